"""Vectors of concepts, semantic neighbours, and the stored texts of concepts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.client import Graph, Row, Transaction, drop_deleted_rows, split_into_portions
from kg_api.graph.concepts import Text
from kg_api.graph.jobs import CONCEPT_EMBEDDING, request_job
from kg_api.graph.spaces import Space, read_configuration
from kg_api.graph.statements import FIRST_MARK, FIRST_NEAR, of_space
from kg_api.graph.text_analysis import build_concept_scope
from kg_api.schemas.spaces import USUAL

NEAR_FROM: Final = 2 / 3
"""Minimum similarity of semantic neighbours, from 0 (unrelated texts) to 1 (equal texts): cosine 0.79 for
bge-small. Cosines from 0.7 to 0.85 change little (ADR 23)."""
NEAREST: Final = 5  # neighbours that searches follow from each concept


_ALWAYS: Final = ("label", "terms", "text_hash", "near_label", "near_terms", "near_text_hash", "similarity")
"""Columns of complete pairs. The row of a concept deleted during the read contains nulls."""


@dataclass(frozen=True, slots=True)
class NearConcepts:
    ids: tuple[str, str]
    texts: tuple[Text, Text]  # without descriptions
    text_hashes: tuple[str, str]  # of the texts with descriptions
    cosine: float


def request_concepts(tx: Transaction, ontology: str) -> bool:
    """Request embedding for concepts of a single source. Return whether that is new."""
    return bool(tx.run("concepts/want", ontology=ontology))


def has_concepts(tx: Transaction, ontology: str) -> bool:
    return bool(tx.run("concepts/sample", ontology=ontology, limit=1))


def count_fresh(tx: Transaction, concept_ids: Iterable[str], *, wants_all: bool) -> int:
    """Count the pending concepts whose text is not embedded in any space."""
    counted = (
        tx.run("concepts/count_fresh", ids=ids, marks=FIRST_MARK, wants_all=wants_all)
        for ids in split_into_portions(sorted(concept_ids))
    )
    return sum(row["fresh"] for rows in counted for row in rows)


def get_min_neighbour_cosine(space: Space) -> float:
    """Get the minimum cosine of semantic neighbours."""
    return (space.calibration or USUAL).interpolate_to_equal(NEAR_FROM)


def get_near_property(space: Space) -> str:
    return of_space(FIRST_NEAR, space.slug)


def find_near_concept_pairs(
    graph: Graph, space: Space, ontology: str, concept_ids: Sequence[str], limit: int, *, least: float
) -> list[NearConcepts]:
    """Return pairs of concepts and their nearest neighbours in an ontology, nearest first."""
    # Concepts without a vector are skipped, as are concepts that are deleted during the read.
    rows = graph.read(
        "concepts/near",
        space.slug,
        ids=list(concept_ids),
        ontology=ontology,
        property=space.at("").vector_property,
        limit=limit + 1,
        least=least,
    )
    return [_build_near_concepts(row) for row in drop_deleted_rows(rows, _ALWAYS)]


def link_concepts(graph: Graph, space: Space, near: Mapping[str, Sequence[NearConcepts]]) -> None:
    """Replace the links of concepts by links to their nearest neighbours."""
    rows = [
        {"concept_id": each, "near": [_link(pair) for pair in pairs[:NEAREST]]}
        for each, pairs in sorted(near.items())
    ]
    properties = {"property": space.at("").vector_property, "near_property": get_near_property(space)}
    graph.write("concepts/link_near", rows=rows, space=space.slug, **properties)


def _link(pair: NearConcepts) -> Row:
    return {"concept_id": pair.ids[1], "cosine": pair.cosine}


def _build_near_concepts(row: Row) -> NearConcepts:
    return NearConcepts(
        (row["concept_id"], row["near_id"]),
        (Text(row["label"], "", tuple(row["terms"])), Text(row["near_label"], "", tuple(row["near_terms"]))),
        (row["text_hash"], row["near_text_hash"]),
        row["similarity"],
    )


# Stored texts of concepts
#
# Lock a concept before changing its text.

# Limited because each statement reads up to 100 appearances per concept, with possibly long texts
RETOLD_A_STATEMENT: Final = 50
APPEARANCES_READ: Final = 100


def hold_concepts(tx: Transaction, ontology: str, concept_ids: Iterable[str]) -> dict[str, Text]:
    """Lock concepts in the order of their ids. Return the texts of existing ones."""
    rows: list[Row] = []
    for ids in split_into_portions(sorted(concept_ids)):
        rows += tx.run("concepts/hold", ontology=ontology, ids=ids)
    return {row["concept_id"]: get_concept_text(row) for row in rows}


def write_texts(tx: Transaction, ontology: str, texts: Mapping[str, Text]) -> None:
    """Write new concepts, and the current texts of known ones."""
    rows = [
        {
            "concept_id": identity,
            "label": text.label,
            "description": text.description,
            "search_terms": list(text.terms),
            "text_hash": text.text_hash,
            "scope": build_concept_scope(ontology, text.label, text.terms, text.description),
        }
        for identity, text in texts.items()
    ]
    for part in split_into_portions(rows):
        tx.run("concepts/write", rows=part, ontology=ontology)


def rebuild_texts(
    tx: Transaction, ontology: str, concept_ids: Collection[str], known: Mapping[str, Text]
) -> set[str]:
    """Rebuild the texts of locked concepts from their sources, highest confidence first."""
    # Call this when a source drops text. Adding text is cheaper without it. The label stays.
    changed = dict[str, Text]()
    for ids in split_into_portions(sorted(concept_ids), RETOLD_A_STATEMENT):
        for row in tx.run("concepts/said", ids=ids, limit=APPEARANCES_READ):
            text = Text(row["label"], next(iter(row["descriptions"]), ""))
            for terms in row["terms"]:
                text = text.merge_text(Text(row["label"], "", tuple(terms)))
            if text != known.get(row["concept_id"]):
                changed[row["concept_id"]] = text
    write_texts(tx, ontology, changed)
    return {*changed}


def delete_orphans(tx: Transaction, concept_ids: Iterable[str]) -> None:
    """Delete the locked concepts that no source contains, with their names."""
    for ids in split_into_portions(sorted(concept_ids)):
        tx.run("concepts/delete_orphans", ids=ids)


def request_embedding(
    tx: Transaction, ontology: str, concept_ids: Collection[str], *, limited: bool = True
) -> None:
    """Request the embedding of changed concepts, unless embedding waits for a request."""
    if not concept_ids:
        return
    configured = read_configuration(tx, ontology)
    if not configured.embed_on_ingest or configured.paused:
        return
    if fresh := count_fresh(tx, concept_ids, wants_all=configured.wants_concepts):
        request_job(tx, CONCEPT_EMBEDDING, ontology, added=fresh, limited=limited)


def get_concept_text(row: Row) -> Text:
    return Text(row["label"], row["description"], tuple(row["search_terms"]))
