"""Concepts and their evidence on their way in: all of a batch in one transaction, or nothing.

Writers lock in one order: sources, names, concepts, each by id. What locks each other out all the same, as
merging and deleting may, is tried again by the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TypeVar

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.concept_names import Text, changed_texts, cleaned, names_of, resolved
from kg_api.graph.concept_rows import (
    IMPORTED,
    AppearanceRow,
    Difference,
    Evidence,
    QuoteRow,
    RelationRow,
    difference,
    evidence,
)
from kg_api.graph.configuration import read_configuration
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.due import SourceText, source_text
from kg_api.graph.job_records import CONCEPT_EMBEDDING
from kg_api.graph.jobs import request_job
from kg_api.models.extraction import Extraction
from kg_api.models.identity import scope_of_ontology

T = TypeVar("T")

ROWS_A_STATEMENT = 2000
REASON_CHARACTERS = 300
LOOKS = 5
"""So often names are looked up again when what they mean has gone meanwhile."""


def write_extractions(
    tx: Transaction, ontology: str, extractions: Sequence[Extraction], mark: str, *, imported: bool = False
) -> int:
    """Write within the caller's transaction what was found in some sources, and ask for its embedding.

    What was found there before goes, if it is of the same origin. Doing it twice changes nothing. A source
    that has changed or gone meanwhile is passed over and stays due; one that was refused keeps its evidence.

    Args:
        tx: the transaction, which may run twice.
        ontology: of the sources.
        extractions: what was found, one for a source.
        mark: of the extractor, or of the import.
        imported: whether people or files said it; extraction does not touch it then, nor is the source read.

    Returns:
        How many sources are done.

    Raises:
        TooBusy: the job of embedding would be made, and too many wait; the transaction must not be committed.
    """
    texts = _hold_sources(tx, ontology, extractions)
    held = [each for each in extractions if each.source_id in texts]
    read = [each for each in held if each.refused is None]
    names = names_of(ontology, read)
    ids = sorted(each.source_id for each in read)
    stored, known = _hold_concepts(tx, ontology, names, ids)
    means = resolved(ontology, read, stored)
    changed = changed_texts(ontology, read, means, known)
    _write_concepts(tx, ontology, changed)
    _write_names(tx, {name: means[name] for name in names if name not in stored})
    wanted = evidence(ontology, read, means, texts, f"{IMPORTED}{mark}" if imported else mark)
    present = _present(tx, ids)
    found = difference(wanted, present, imported=imported)
    _write(tx, ontology, found)
    _mark(tx, held, mark, found, imported=imported)
    _delete_orphans(tx, {row.concept_id for row in found.gone.appearances})
    _ask_for_embedding(tx, ontology, len(changed))
    return len(held)


def forget_evidence(tx: Transaction, source_ids: Sequence[str]) -> None:
    """Delete what ties some sources to concepts, and the concepts that no other source carries.

    Call it before the sources themselves go, in the same transaction.
    """
    for ids in _portions(sorted(source_ids)):
        if rows := tx.run("concepts/hold_of_sources", source_ids=ids):
            held = _hold(tx, rows[0]["ontology"], [row["concept_id"] for row in rows])
            tx.run("concepts/forget_of_sources", source_ids=ids)
            _delete_orphans(tx, held)


def due_for_extraction(
    graph: Graph, ontology: str, mark: str, after: tuple[str, int], limit: int
) -> list[SourceText]:
    """The next sources that no extractor of this mark has read, in reading order.

    Args:
        graph: where they are.
        ontology: whose.
        mark: of the extractor.
        after: document and paragraph of the last one that was looked at; ("", -1) at the beginning.
        limit: most of them.
    """
    place = {"after_document": after[0], "after_paragraph": after[1]}
    rows = graph.read("concepts/due_sources", ontology=ontology, mark=mark, **place, limit=limit)
    return [source_text(row) for row in rows]


def count_for_extraction(graph: Graph, ontology: str, mark: str) -> int:
    """How many sources no extractor of this mark has read."""
    return graph.read("concepts/count_due_sources", ontology=ontology, mark=mark)[0]["due"]


def _hold_sources(tx: Transaction, ontology: str, extractions: Sequence[Extraction]) -> dict[str, str]:
    """Lock the sources that are still what was read; their texts by id."""
    rows = [
        {"source_id": each.source_id, "content_hash": each.content_hash}
        for each in sorted(extractions, key=lambda each: each.source_id)
    ]
    held = tx.run("concepts/hold_sources", rows=rows, ontology=ontology)
    return {row["source_id"]: row["full_text"] for row in held}


def _hold_concepts(
    tx: Transaction, ontology: str, names: Mapping[str, str], source_ids: Sequence[str]
) -> tuple[dict[str, str], dict[str, Text]]:
    """Lock what some names mean and some sources carry; by name its concept, and what is said of those.

    Names that are there are only read: whoever deletes one has locked its concept first.
    """
    carried = {row["concept_id"] for row in tx.run("concepts/hold_of_sources", source_ids=source_ids)}
    for _ in range(LOOKS):
        stored = _found(tx, ontology, names)
        held = _hold(tx, ontology, carried.union(stored.values()))
        if held.keys() >= {*stored.values()}:
            return stored, {identity: held[identity] for identity in stored.values()}
    raise DatabaseUnavailable("concepts change faster than they can be written; it is tried again by itself")


def _found(tx: Transaction, ontology: str, names: Mapping[str, str]) -> dict[str, str]:
    """By name, the concept that it means; names that are new are made and mean nothing yet."""
    found = [row for ids in _portions([*names]) for row in tx.run("concepts/find_names", name_ids=ids)]
    there = {row["name_id"] for row in found}
    new = [{"name_id": each, "name": name} for each, name in names.items() if each not in there]
    for part in _portions(new):
        found += tx.run("concepts/make_names", rows=part, ontology=ontology)
    return {row["name_id"]: row["concept_id"] for row in found}


def _hold(tx: Transaction, ontology: str, concept_ids: Iterable[str]) -> dict[str, Text]:
    """Lock concepts in the order of their ids; those that are there, and what is said of them."""
    rows: list[Row] = []
    for ids in _portions(sorted(concept_ids)):
        rows += tx.run("concepts/hold", ontology=ontology, ids=ids)
    return {row["concept_id"]: _text(row) for row in rows}


def _write_concepts(tx: Transaction, ontology: str, changed: Mapping[str, Text]) -> None:
    rows = [
        {
            "concept_id": identity,
            "label": text.label,
            "description": text.description,
            "search_terms": list(text.terms),
            "text_hash": text.text_hash,
        }
        for identity, text in changed.items()
    ]
    scope = [scope_of_ontology(ontology)]
    for part in _portions(rows):
        tx.run("concepts/write", rows=part, ontology=ontology, scope=scope)


def _write_names(tx: Transaction, means: Mapping[str, str]) -> None:
    rows = [{"name_id": name, "concept_id": concept} for name, concept in means.items()]
    for part in _portions(rows):
        tx.run("concepts/write_names", rows=part)


def _present(tx: Transaction, source_ids: Sequence[str]) -> Evidence:
    """The evidence that some sources give, as it is stored."""
    appearances = tx.run("concepts/present_appearances", source_ids=source_ids)
    quotes = tx.run("concepts/present_quotes", source_ids=source_ids)
    relations = tx.run("concepts/present_relations", source_ids=source_ids)
    return Evidence(
        [AppearanceRow(**row) for row in appearances],
        [QuoteRow(**row) for row in quotes],
        [RelationRow(**row) for row in relations],
    )


def _write(tx: Transaction, ontology: str, found: Difference) -> None:
    for part in _portions([row.relation_id for row in found.gone.relations]):
        tx.run("concepts/forget_relations", ids=part)
    for part in _portions([row.instance_id for row in found.gone.quotes]):
        tx.run("concepts/forget_quotes", ids=part)
    for part in _portions(_rows(found.gone.appearances)):
        tx.run("concepts/forget_appearances", rows=part)
    for part in _portions(_rows(found.write.appearances)):
        tx.run("concepts/write_appearances", rows=part)
    for part in _portions(_rows(found.write.quotes)):
        tx.run("concepts/write_quotes", rows=part, ontology=ontology)
    for part in _portions(_rows(found.write.relations)):
        tx.run("concepts/write_relations", rows=part)


def _delete_orphans(tx: Transaction, concept_ids: Iterable[str]) -> None:
    """Delete those of some locked concepts that no source carries any more, with their names."""
    for ids in _portions(sorted(concept_ids)):
        tx.run("concepts/delete_orphans", ids=ids)


def _mark(
    tx: Transaction, held: Sequence[Extraction], mark: str, found: Difference, *, imported: bool
) -> None:
    if imported:
        tx.run("concepts/unmark_sources", source_ids=found.gone.source_ids)
        return
    rows = [{"source_id": each.source_id, "refused": _reason(each.refused)} for each in held]
    tx.run("concepts/mark_sources", rows=rows, mark=mark)


def _reason(refused: str | None) -> str | None:
    return None if refused is None else cleaned(refused, REASON_CHARACTERS)


def _ask_for_embedding(tx: Transaction, ontology: str, changed: int) -> None:
    """Of new texts, unless embedding waits until somebody asks for it."""
    if not changed:
        return
    configured = read_configuration(tx, ontology)
    if configured.embed_on_ingest and not configured.paused:
        request_job(tx, CONCEPT_EMBEDDING, ontology, added=changed)


def _text(row: Row) -> Text:
    return Text(row["label"], row["description"], tuple(row["search_terms"]))


def _rows(rows: Sequence[AppearanceRow | QuoteRow | RelationRow]) -> list[Row]:
    return [asdict(row) for row in rows]


def _portions(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), ROWS_A_STATEMENT):
        yield items[start : start + ROWS_A_STATEMENT]
