"""Writing and deleting extracted concepts and their evidence, and the extraction settings of ontologies."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.client import Graph, Reader, Row, Transaction, split_into_portions
from kg_api.graph.concept_vectors import (
    delete_orphans,
    hold_concepts,
    rebuild_texts,
    request_embedding,
    write_texts,
)
from kg_api.graph.concepts import (
    AppearanceRow,
    Difference,
    EvidenceRows,
    QuoteRow,
    Text,
    build_evidence_rows,
    clean_name,
    collect_concept_names,
    collect_first_texts,
    compute_difference,
    find_changed_concepts,
    find_changed_texts,
    resolve_names,
    to_row,
)
from kg_api.graph.jobs import CONCEPT_EMBEDDING, can_accept_request
from kg_api.graph.names import report_unknown_ontology
from kg_api.graph.relations import RelationRow, write_relations
from kg_api.graph.rows import convert_times
from kg_api.graph.spaces import EXTRACTION_MARK, Fingerprint
from kg_api.graph.vectors import PendingQuery, SourceText, count_due, list_pending_sources
from kg_api.schemas.concepts import Extraction, ExtractionConfig
from kg_api.schemas.embedding import RefusedSource
from kg_api.schemas.vocabulary import Selection

MAX_SOURCES_PER_TRANSACTION: Final = 250
"""At most 12,500 appearances, with 50 concepts per source. 30,000 exceed 512 MB of heap."""


def forget_evidence(tx: Transaction, source_ids: Sequence[str]) -> None:
    # Remaining concepts lose text that only these sources contributed. Call this before deleting the sources,
    # in the same transaction.
    for ids in split_into_portions(sorted(source_ids)):
        if rows := tx.run("concepts/hold_of_sources", source_ids=ids):
            ontology: str = rows[0]["ontology"]
            held = hold_concepts(tx, ontology, [row["concept_id"] for row in rows])
            tx.run("concepts/forget_of_sources", source_ids=ids)
            delete_orphans(tx, held)
            concept_ids = [row["concept_id"] for row in rows if row["said"]]
            changed = rebuild_texts(tx, ontology, concept_ids, held)
            # A full queue never blocks a deletion, because the backfill finds pending concepts
            if changed and can_accept_request(tx, CONCEPT_EMBEDDING, ontology):
                request_embedding(tx, ontology, changed, limited=False)


def forget_in_parts(
    graph: Graph, source_ids: Sequence[str], goes: Callable[[Transaction], bool] = lambda _: True
) -> None:
    """Delete the evidence of many sources in separate transactions, before deleting the sources."""
    # If the sources remain after a fault, they are pending for extraction. Safe to repeat.

    def forget(tx: Transaction, ids: Sequence[str]) -> None:
        if goes(tx):
            forget_evidence(tx, ids)
            tx.run("concepts/unmark_sources", source_ids=ids)

    for ids in split_into_portions(sorted(source_ids), MAX_SOURCES_PER_TRANSACTION):
        graph.transaction(partial(forget, ids=ids))


# Extraction settings, cost, and progress of ontologies


@dataclass(frozen=True, slots=True)
class StoredExtraction:
    ontology: str
    config: ExtractionConfig = field(default_factory=ExtractionConfig)
    spent: float = 0.0  # US dollars
    # Mark of the extractor that a user requested for all sources, until it has read them
    asked: str | None = None
    paused: bool = False  # whether a user cancelled extraction or embedding, until the next request


def read_extraction(graph: Reader, ontology: str) -> StoredExtraction:
    rows = graph.read("extraction/configuration", names=[ontology])
    if not rows:
        raise report_unknown_ontology(graph, ontology)
    return _to_stored(rows[0])


def read_extractions(graph: Graph) -> list[StoredExtraction]:
    return [_to_stored(row) for row in graph.read("extraction/configuration", names=None)]


def write_extraction(tx: Transaction, ontology: str, config: ExtractionConfig) -> None:
    """Set the extraction settings of an ontology, and create the ontology if it does not exist."""
    stored = json.dumps(config.model_dump(exclude_none=True), sort_keys=True)
    tx.run("extraction/configure", name=ontology, extraction=stored)


def hold_extraction(tx: Transaction, ontology: str) -> ExtractionConfig | None:
    """Lock an ontology to get its extraction settings. If it was deleted, return None."""
    tx.run("ontologies/hold", names=[ontology])
    rows = tx.run("extraction/configuration", names=[ontology])
    return _to_stored(rows[0]).config if rows else None


def read_spent(graph: Graph, ontology: str) -> float:
    """Read the extraction cost in US dollars. 0 if the ontology was deleted."""
    rows = graph.read("extraction/configuration", names=[ontology])
    return float(rows[0]["spent"]) if rows else 0.0


def note_all_read(tx: Transaction, ontology: str, mark: str) -> None:
    """Record that all requested sources have been read by an extractor with this mark."""
    tx.run("extraction/all_read", ontology=ontology, mark=mark)


def add_spent(
    tx: Transaction, ontology: str, dollars: float, receipt: str, job_id: str | None = None
) -> None:
    """Add to the cost for an ontology and a job. A receipt is used only once."""
    tx.run("extraction/add_spent", ontology=ontology, cost=dollars, receipt=receipt, job_id=job_id)


def count_extraction(graph: Graph, ontology: str, mark: str | None) -> Row:
    """Count what was extracted using this mark, or any mark for None, and the evidence."""
    return graph.read("extraction/status", ontology=ontology, mark=mark)[0]


def list_unread_sources(graph: Graph, ontology: str, mark: str | None, *, limit: int) -> list[RefusedSource]:
    rows = graph.read("extraction/refused", ontology=ontology, mark=mark, limit=limit)
    return [RefusedSource.model_validate(convert_times(row)) for row in rows]


def retry_unread(tx: Transaction, ontology: str) -> int:
    """Set rejected sources to pending, and count them."""
    return tx.run("extraction/retry_refused", ontology=ontology)[0]["sources"]


def _to_stored(row: Row) -> StoredExtraction:
    config = ExtractionConfig.model_validate_json(row["extraction"] or "{}")
    return StoredExtraction(row["ontology"], config, float(row["spent"]), row["asked"], bool(row["paused"]))


# Evidence of locked sources


def present_evidence(tx: Transaction, source_ids: Collection[str], proven: Collection[str]) -> EvidenceRows:
    ids = sorted(proven)
    appearances = tx.run("concepts/present_appearances", source_ids=ids) if ids else []
    for row in appearances:
        row["terms"], row["unverified"] = tuple(row["terms"]), tuple(row["unverified"])
    quotes = tx.run("concepts/present_quotes", source_ids=ids) if ids else []
    relations = tx.run("concepts/present_relations", source_ids=sorted(source_ids))
    return EvidenceRows(
        [AppearanceRow(**row) for row in appearances],
        [QuoteRow(**row) for row in quotes],
        [RelationRow(**row) for row in relations],
    )


def write_evidence(tx: Transaction, ontology: str, found: Difference, *, new: Collection[str]) -> None:
    """Delete the old rows, and write the new rows."""
    for part in split_into_portions([row.relation_id for row in found.gone.relations]):
        tx.run("concepts/forget_relations", ids=part)
    for part in split_into_portions([row.instance_id for row in found.gone.quotes]):
        tx.run("concepts/forget_quotes", ids=part)
    for part in split_into_portions(_build_rows(found.gone.appearances)):
        tx.run("concepts/forget_appearances", rows=part)
    for part in split_into_portions(_build_first_rows(found.write, new)):
        tx.run("concepts/write_first", rows=part, ontology=ontology)
    for part in split_into_portions(
        _build_rows(row for row in found.write.appearances if row.source_id not in new)
    ):
        tx.run("concepts/write_appearances", rows=part)
    for part in split_into_portions(
        _build_rows(row for row in found.write.quotes if row.source_id not in new)
    ):
        tx.run("concepts/write_quotes", rows=part, ontology=ontology)
    write_relations(tx, ontology, found.write.relations)


def _build_first_rows(write: EvidenceRows, new: Collection[str]) -> list[Row]:
    """Build a row for each source that had no evidence: its concepts, each with quotes."""
    quotes = dict[tuple[str, str], list[Row]]()
    for quote in write.quotes:
        quotes.setdefault((quote.source_id, quote.concept_id), []).append(to_row(quote))
    first = (row for row in write.appearances if row.source_id in new)
    return [
        {
            "source_id": source_id,
            "concepts": [
                to_row(row) | {"quotes": quotes.get((source_id, row.concept_id), [])} for row in rows
            ],
        }
        for source_id, rows in groupby(first, key=lambda row: row.source_id)
    ]


def _build_rows(rows: Iterable[AppearanceRow | QuoteRow]) -> list[Row]:
    return [to_row(row) for row in rows]


# Writing extractions, each batch in one transaction
#
# Writers lock in one order: sources, names, and concepts, each by id. Merges and deletions may still
# deadlock, and then the driver retries.


REASON_CHARACTERS = 300
LOOKS = 5  # attempts to look up names whose concepts were deleted during the lookup


def write_extractions(tx: Transaction, ontology: str, extractions: Sequence[Extraction], mark: str) -> int:
    """Write the concepts of sources in the caller's transaction, and request to embed them.

    Returns:
        The number of sources that have not changed meanwhile.
    """
    # The write replaces previous concepts and is idempotent. It skips sources that have changed or no longer
    # exist. They stay pending. A rejected source keeps its evidence.
    ordered = sorted(extractions, key=lambda each: each.source_id)
    names_read = ("source_id", "content_hash", "block_kinds")
    rows = [{name: getattr(each, name) for name in names_read} for each in ordered]
    sources = {row["source_id"]: row for row in tx.run("concepts/hold_sources", rows=rows, ontology=ontology)}
    held = [each for each in extractions if each.source_id in sources]
    read = [each for each in held if each.refused is None]
    names = collect_concept_names(ontology, read)
    carried = {concept for each in read for concept in sources[each.source_id]["concept_ids"]}
    stored, known = _hold_concepts(tx, ontology, names, carried)
    means = resolve_names(ontology, read, stored)
    texts = {identity: source["full_text"] for identity, source in sources.items()}
    wanted = build_evidence_rows(ontology, read, means, texts, mark)
    proven = {each.source_id for each in read if sources[each.source_id]["is_evidence"]}
    present = present_evidence(tx, [each.source_id for each in read], proven)
    found = compute_difference(wanted, present)
    lost = find_changed_concepts(found, present)
    more = [row for row in found.write.appearances if row.concept_id not in lost]
    changed = find_changed_texts(collect_first_texts(ontology, read, means) | known, known, more)
    write_texts(tx, ontology, changed)
    new = [{"name_id": name, "concept_id": means[name]} for name in names if name not in stored]
    for part in split_into_portions(new):
        tx.run("concepts/write_names", rows=part)
    write_evidence(tx, ontology, found, new={each.source_id for each in read}.difference(proven))
    marked = [
        {
            "source_id": each.source_id,
            "refused": each.refused and clean_name(each.refused, REASON_CHARACTERS),
            "unverified": each.unverified or None,
        }
        for each in held
    ]
    tx.run("concepts/mark_sources", rows=marked, ontology=ontology, mark=mark)
    delete_orphans(tx, {row.concept_id for row in found.gone.appearances})
    retold = rebuild_texts(tx, ontology, lost, known)
    # A second source makes a concept pending
    more_sources = {row.concept_id for row in found.write.appearances}
    request_embedding(tx, ontology, retold.union(changed, more_sources))
    return len(held)


def list_pending_extractions(
    graph: Graph,
    ontology: str,
    mark: str,
    after: tuple[str, int],
    limit: int,
    *,
    selection: Selection = "due",
) -> list[SourceText]:
    return list_pending_sources(
        graph, _build_unread_query(ontology, mark, selection), after=after, limit=limit
    )


def count_for_extraction(graph: Graph, ontology: str, mark: str, selection: Selection = "due") -> int:
    return count_due(graph, _build_unread_query(ontology, mark, selection))


def build_reading_fingerprint(mark: str) -> Fingerprint:
    return Fingerprint("Source", EXTRACTION_MARK, mark, "extracted_at", "not_extracted_because")


def _build_unread_query(ontology: str, mark: str, selection: Selection) -> PendingQuery:
    read = build_reading_fingerprint(mark)
    return PendingQuery(ontology, read, read.key, selection)


def _hold_concepts(
    tx: Transaction, ontology: str, names: Mapping[str, str], carried: Collection[str]
) -> tuple[dict[str, str], dict[str, Text]]:
    """Lock concepts that are used in names and sources. Return concepts by name, and their texts."""
    # Existing names need no lock, because their deletion first locks the concept
    for _ in range(LOOKS):
        stored = _find_or_create(tx, ontology, names)
        held = hold_concepts(tx, ontology, {*carried, *filter(None, stored.values())})
        if held.keys() >= {*stored.values()}:
            return stored, held
    raise DatabaseUnavailable("concepts change faster than kg can write them. kg retries automatically")


def _find_or_create(tx: Transaction, ontology: str, names: Mapping[str, str]) -> dict[str, str]:
    """Find the concept of each name. New names are created without a concept."""
    # A name under deletion has no properties. Creating the name waits for that deletion
    rows = [
        row for ids in split_into_portions([*names]) for row in tx.run("concepts/find_names", name_ids=ids)
    ]
    found = [row for row in rows if row["name_id"] and row["concept_id"]]
    there = {row["name_id"] for row in found}
    new = [{"name_id": each, "name": name} for each, name in names.items() if each not in there]
    for part in split_into_portions(new):
        found += tx.run("concepts/make_names", rows=part, ontology=ontology)
    return {row["name_id"]: row["concept_id"] for row in found}
