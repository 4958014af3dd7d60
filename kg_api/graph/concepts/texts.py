"""What is said of concepts, as it is stored; whoever changes it has locked the concept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kg_api.graph.concepts.names import NamedConcept, Text
from kg_api.graph.concepts.vectors import count_fresh
from kg_api.graph.database import Row, Transaction, portions
from kg_api.graph.fulltext.scopes import scope_of_concept
from kg_api.graph.jobs import request_job
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING
from kg_api.graph.spaces.configuration import read_configuration

RETOLD_A_STATEMENT: Final = 50
"""Of each of them a hundred appearances are read, and each may say much."""
APPEARANCES_READ: Final = 100


def hold_concepts(tx: Transaction, ontology: str, concept_ids: Iterable[str]) -> dict[str, Text]:
    """Lock concepts in the order of their ids; those that are there, and what is said of them."""
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
    """Say of some locked concepts only what their sources say now, the surest first.

    Call it when a source says no more what it said; adding is cheaper. The label stays.

    Args:
        tx: the transaction.
        ontology: of the concepts.
        concept_ids: which; those that have gone are passed over.
        known: what is stored of them.

    Returns:
        Ids of those of which something else is said now.
    """
    changed = dict[str, Text]()
    for ids in portions(sorted(concept_ids), RETOLD_A_STATEMENT):
        for row in tx.run("concepts/said", ids=ids, limit=APPEARANCES_READ):
            text = _to_text(row)
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
    """Of what is new of some concepts, unless embedding waits until somebody asks for it.

    Of a concept of a single source nothing is asked before somebody wants the ontology's concepts by meaning.

    Raises:
        TooBusy: the job would be made, and too many wait; the transaction must not be committed. Not where
            it is not `limited`, see `request_job`.
    """
    if not concept_ids:
        return
    configured = read_configuration(tx, ontology)
    if not configured.embed_on_ingest or configured.paused:
        return
    if fresh := count_fresh(tx, concept_ids, wants_all=configured.wants_concepts):
        request_job(tx, CONCEPT_EMBEDDING, ontology, added=fresh, limited=limited)


def text_of(row: Row) -> Text:
    """What a row says of a concept."""
    return Text(row["label"], row["description"], tuple(row["search_terms"]))


def _to_text(row: Row) -> Text:
    text = Text(row["label"], next(iter(row["descriptions"]), ""))
    for terms in row["terms"]:
        text = text.with_more(NamedConcept(row["label"], "", tuple(terms)))
    return text
