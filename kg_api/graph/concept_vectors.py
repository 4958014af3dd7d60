"""Vectors of concepts: what is to be embedded, writing it, and what is near by them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.client import Graph, Row, Transaction, portions, without_deleted
from kg_api.graph.concepts import Text
from kg_api.graph.jobs import CONCEPT_EMBEDDING, request_job
from kg_api.graph.spaces import Space, read_configuration
from kg_api.graph.statements import FIRST_MARK, FIRST_NEAR, of_space
from kg_api.graph.text_analysis import scope_of_concept
from kg_api.schemas.spaces import USUAL

NEAR_FROM: Final = 2 / 3
"""Concepts are near in meaning from so far on the way from unrelated texts to equal ones: 0.79 for bge-small;
between 0.7 and 0.85 nothing much changes (ADR 23)."""
NEAREST: Final = 5  # so many of each lead on


_ALWAYS: Final = ("label", "terms", "text_hash", "near_label", "near_terms", "near_text_hash", "similarity")
"""What pairs have; of one that is deleted while they are read there are nulls."""


@dataclass(frozen=True, slots=True)
class NearConcepts:
    ids: tuple[str, str]
    texts: tuple[Text, Text]  # without their descriptions
    text_hashes: tuple[str, str]  # of these with their descriptions
    cosine: float


def want_concepts(tx: Transaction, ontology: str) -> bool:
    """Have concepts of a single source embedded too; return whether they were not before."""
    return bool(tx.run("concepts/want", ontology=ontology))


def has_concepts(tx: Transaction, ontology: str) -> bool:
    return bool(tx.run("concepts/sample", ontology=ontology, limit=1))


def count_fresh(tx: Transaction, concept_ids: Iterable[str], *, wants_all: bool) -> int:
    """Count the concepts whose text was not embedded in any space and that are due."""
    counted = (
        tx.run("concepts/count_fresh", ids=ids, marks=FIRST_MARK, wants_all=wants_all)
        for ids in portions(sorted(concept_ids))
    )
    return sum(row["fresh"] for rows in counted for row in rows)


def least_near(space: Space) -> float:
    """Return the cosine from which on concepts are near in meaning."""
    return (space.calibration or USUAL).toward_equal(NEAR_FROM)


def near_property(space: Space) -> str:
    return of_space(FIRST_NEAR, space.slug)


def near_concepts(
    graph: Graph, space: Space, ontology: str, concept_ids: Sequence[str], limit: int, *, least: float
) -> list[NearConcepts]:
    """Return what is nearest to some concepts of an ontology and near enough, the nearest pairs first."""
    # Concepts without a vector are neither asked for nor found, nor is one that is deleted at this moment.
    rows = graph.read(
        "concepts/near",
        space.slug,
        ids=list(concept_ids),
        ontology=ontology,
        property=space.at("").vector_property,
        limit=limit + 1,
        least=least,
    )
    return [_near(row) for row in without_deleted(rows, _ALWAYS)]


def link_concepts(graph: Graph, space: Space, near: Mapping[str, Sequence[NearConcepts]]) -> None:
    """Link concepts with the nearest of what is near to them, in place of what they were linked to."""
    rows = [
        {"concept_id": each, "near": [_link(pair) for pair in pairs[:NEAREST]]}
        for each, pairs in sorted(near.items())
    ]
    properties = {"property": space.at("").vector_property, "near_property": near_property(space)}
    graph.write("concepts/link_near", rows=rows, space=space.slug, **properties)


def _link(pair: NearConcepts) -> Row:
    return {"concept_id": pair.ids[1], "cosine": pair.cosine}


def _near(row: Row) -> NearConcepts:
    return NearConcepts(
        (row["concept_id"], row["near_id"]),
        (Text(row["label"], "", tuple(row["terms"])), Text(row["near_label"], "", tuple(row["near_terms"]))),
        (row["text_hash"], row["near_text_hash"]),
        row["similarity"],
    )


# What is said of concepts, as it is stored; whoever changes it has locked the concept.

RETOLD_A_STATEMENT: Final = 50  # of each of them a hundred appearances are read, and each may say much
APPEARANCES_READ: Final = 100


def hold_concepts(tx: Transaction, ontology: str, concept_ids: Iterable[str]) -> dict[str, Text]:
    """Lock concepts in the order of their ids; return the texts of those that exist."""
    rows: list[Row] = []
    for ids in portions(sorted(concept_ids)):
        rows += tx.run("concepts/hold", ontology=ontology, ids=ids)
    return {row["concept_id"]: text_of(row) for row in rows}


def write_texts(tx: Transaction, ontology: str, texts: Mapping[str, Text]) -> None:
    """Write new concepts, and what is said of known ones now."""
    rows = [
        {
            "concept_id": identity,
            "label": text.label,
            "description": text.description,
            "search_terms": list(text.terms),
            "text_hash": text.text_hash,
            "scope": scope_of_concept(ontology, text.label, text.terms, text.description),
        }
        for identity, text in texts.items()
    ]
    for part in portions(rows):
        tx.run("concepts/write", rows=part, ontology=ontology)


def retell(
    tx: Transaction, ontology: str, concept_ids: Collection[str], known: Mapping[str, Text]
) -> set[str]:
    """Say of some locked concepts only what their sources say now, the surest first."""
    # Call it when a source says no more what it said; adding is cheaper. The label stays.
    changed = dict[str, Text]()
    for ids in portions(sorted(concept_ids), RETOLD_A_STATEMENT):
        for row in tx.run("concepts/said", ids=ids, limit=APPEARANCES_READ):
            text = Text(row["label"], next(iter(row["descriptions"]), ""))
            for terms in row["terms"]:
                text = text.with_more(Text(row["label"], "", tuple(terms)))
            if text != known.get(row["concept_id"]):
                changed[row["concept_id"]] = text
    write_texts(tx, ontology, changed)
    return {*changed}


def delete_orphans(tx: Transaction, concept_ids: Iterable[str]) -> None:
    """Delete those of some locked concepts that no source carries any more, with their names."""
    for ids in portions(sorted(concept_ids)):
        tx.run("concepts/delete_orphans", ids=ids)


def ask_for_embedding(
    tx: Transaction, ontology: str, concept_ids: Collection[str], *, limited: bool = True
) -> None:
    """Request the embedding of changed concepts, unless it waits for a request."""
    if not concept_ids:
        return
    configured = read_configuration(tx, ontology)
    if not configured.embed_on_ingest or configured.paused:
        return
    if fresh := count_fresh(tx, concept_ids, wants_all=configured.wants_concepts):
        request_job(tx, CONCEPT_EMBEDDING, ontology, added=fresh, limited=limited)


def text_of(row: Row) -> Text:
    return Text(row["label"], row["description"], tuple(row["search_terms"]))
