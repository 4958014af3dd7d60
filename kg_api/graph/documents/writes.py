"""Storing documents as differences to what is there, many in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kg_api.errors import Conflict
from kg_api.graph.concepts.removal import forget_apart
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.documents.applying import look_again, write_blocks, write_sources
from kg_api.graph.documents.changes import with_changes
from kg_api.graph.documents.difference import DocumentDifference, document_row, find_difference, unchanged
from kg_api.graph.documents.metadata import metadata_properties
from kg_api.graph.documents.same_text import (
    find_left_out,
    find_same_texts,
    may_be_left_out,
    read_same_texts,
    skipped,
)
from kg_api.graph.fulltext.language import require_language
from kg_api.graph.images.blobs import release_holds
from kg_api.graph.images.writes import write_images, write_originals
from kg_api.graph.jobs import request_job
from kg_api.graph.jobs.records import IMAGE_EMBEDDING, SOURCE_EMBEDDING
from kg_api.graph.retrying import DeletedMeanwhile
from kg_api.graph.review.waiting import put_waiting
from kg_api.graph.spaces.configuration import read_configuration
from kg_api.models.library.documents import DocumentRecord, SourceRecord, StoredChange

AskForExtraction = Callable[[Transaction, str, int], None]
"""Has so many sources of an ontology read, within the transaction that stores them."""
SOURCES_A_TRANSACTION = 2000
CHARACTERS_A_TRANSACTION = 4_000_000
"""What one transaction stores, unless a single document is more: Neo4j holds all of it in its heap."""


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What storing did, the job that embeds what is new, and how much is to be read."""

    change: StoredChange
    job_id: str | None
    unread: int = 0
    """Sources to be read for concepts: new ones, and those whose blocks are of other kinds than before."""


def store_document(
    graph: Graph, record: DocumentRecord, extract: AskForExtraction | None = None
) -> StoreResult:
    """Store one document, as `store_documents` does."""
    return store_documents(graph, [record], extract)[0]


def store_documents(
    graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> list[StoreResult]:
    """Store documents and ask for the embedding and reading of their new sources, all in one transaction.

    Sources that say the same as before keep node, vector and evidence, wherever they moved.

    Args:
        graph: where to.
        records: of one ontology, each name once.
        extract: has new text read.

    Raises:
        DatabaseUnavailable: Neo4j does not answer; nothing was stored.
        TooBusy: too many jobs wait; nothing was stored.
    """
    forget_evidence_of_gone(graph, records)
    return graph.transaction(storing(records, extract))


def split_to_transactions(records: Sequence[DocumentRecord]) -> Iterator[list[DocumentRecord]]:
    """Divide documents into what one transaction shall store, in their order."""
    part, sources, characters = list[DocumentRecord](), 0, 0
    for record in records:
        sources, characters = sources + len(record.sources), characters + record.characters
        if part and (sources > SOURCES_A_TRANSACTION or characters > CHARACTERS_A_TRANSACTION):
            yield part
            part, sources, characters = [], len(record.sources), record.characters
        part.append(record)
    if part:
        yield part


def forget_evidence_of_gone(graph: Graph, records: Sequence[DocumentRecord]) -> None:
    """Before documents are stored that lose many sources: their evidence goes in parts."""
    rows = [
        {"document_id": each.document_id, "content_hash": each.content_hash}
        for each in records
        if each.waits_as is None
    ]
    stored = graph.read("sources/ids_of_changed", documents=rows)
    kept = {source.source_id for record in records for source in record.sources} if stored else set[str]()
    forget_apart(graph, [row["source_id"] for row in stored if row["source_id"] not in kept])


def storing(
    records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> Callable[[Transaction], list[StoreResult]]:
    """What `store_documents` does, for a transaction of the caller's; the same one may run it twice."""
    return _Call(records, uuid.uuid4().hex, extract).store


def preview_document(graph: Graph, record: DocumentRecord) -> tuple[StoredChange, list[SourceRecord]]:
    """What storing a document would do, and its sources that would be new; nothing is stored."""
    rows = graph.read("documents/stored", document_id=record.document_id)
    before: Row = rows[0] if rows else {"content_hash": None, "uri": None, "sources": 0}
    if before["content_hash"] == record.content_hash:
        return unchanged(before), []
    places = graph.read("documents/source_places", document_ids=[record.document_id])
    difference = find_difference(record, before, places)
    same = read_same_texts(graph, record)
    if same and may_be_left_out(record, before):
        return skipped(same), []
    return replace(difference.change, same_text=same), difference.new


class _Call:
    """One call of store_documents, which may run its transaction twice when the answer to a commit is lost.

    Then it finds its own work, knows each document by its mark, and gives the outcome of the first run.
    """

    def __init__(
        self, records: Sequence[DocumentRecord], mark: str, extract: AskForExtraction | None
    ) -> None:
        self._records = records
        self._extract = extract
        self._mark = mark
        self._outcomes: dict[str, StoreResult] = {}

    def store(self, tx: Transaction) -> list[StoreResult]:
        """Store the documents, but for those that this call has stored."""
        if waiting := [each for each in self._records if each.waits_as is not None]:
            changes = put_waiting(tx, waiting)
            self._outcomes.update({name: StoreResult(change, None) for name, change in changes.items()})
        if wanted := [each for each in self._records if each.waits_as is None]:
            before = _lock(tx, wanted)
            left = [each for each in wanted if not self._is_stored(before[each.document_id])]
            _refuse_reviewed([each for each in left if not before[each.document_id]["waited"]])
            self._outcomes.update(self._store(tx, left, before))
        release_holds(tx, [each.hold for each in self._records if each.hold])
        return [self._outcomes[each.document_id] for each in self._records]

    def _is_stored(self, before: Row) -> bool:
        return before["document_id"] in self._outcomes and before["written_by"] == self._mark

    def _store(
        self, tx: Transaction, records: Sequence[DocumentRecord], before: dict[str, Row]
    ) -> dict[str, StoreResult]:
        rows = [(record, before[record.document_id]) for record in records]
        known = [(with_changes(record, row["changes"]), row) for record, row in rows]
        same = [row for record, row in known if row["content_hash"] == record.content_hash]
        outcomes = {row["document_id"]: StoreResult(unchanged(row), None) for row in same}
        _write_file_times(tx, known)
        changed = [(record, row) for record, row in known if record.document_id not in outcomes]
        for identity, names in (left_out := find_left_out(tx, changed)).items():
            outcomes[identity] = StoreResult(skipped(names), None)
        wanted = [(record, row) for record, row in changed if record.document_id not in left_out]
        if wanted:
            outcomes.update(self._write(tx, _find_differences(tx, wanted)))
        return outcomes

    def _write(self, tx: Transaction, differences: Sequence[DocumentDifference]) -> dict[str, StoreResult]:
        """Write documents; last what all writers of their ontology change, so that they wait least for it."""
        ontology = differences[0].record.ontology
        stored = read_configuration(tx, ontology)
        new = {each.record.document_id: len(each.new) for each in differences}
        unread, due = write_blocks(tx, differences), write_sources(tx, differences)
        images = write_images(tx, differences)
        write_originals(tx, differences)
        unread.update(new)
        due.update(new)
        due.update(look_again(tx, differences, stored))
        rows = [document_row(each.record, each.before, self._mark) for each in differences]
        space = differences[0].before["space"]
        held = tx.run("documents/describe", ontology=ontology, space=space, documents=rows)
        require_language(held, differences[0].language)
        wanted = stored.embed_on_ingest and not stored.paused
        jobs = [
            (request_job(tx, kind, ontology, added=due_of.total(), paused=False), due_of)
            for kind, due_of in ((SOURCE_EMBEDDING, due), (IMAGE_EMBEDDING, images))
            if wanted and due_of.total()
        ]
        if self._extract is not None and unread.total():
            self._extract(tx, ontology, unread.total())
        same = find_same_texts(tx, [(each.record, each.before) for each in differences])
        return {
            identity: StoreResult(
                replace(each.change, same_text=same[identity]),
                next((job_id for job_id, due_of in jobs if due_of[identity]), None),
                unread[identity],
            )
            for identity, each in ((each.record.document_id, each) for each in differences)
        }


def _write_file_times(tx: Transaction, known: Sequence[tuple[DocumentRecord, Row]]) -> None:
    """Store the time of files whose documents are unchanged, without touching anything else of them."""
    rows = [
        {
            "document_id": record.document_id,
            "properties": {
                "metadata": record.metadata,
                **metadata_properties(record.metadata, row["metadata"]),
            },
        }
        for record, row in known
        if record.has_file_time
        and row["content_hash"] == record.content_hash
        and row["metadata"] != record.metadata
    ]
    if rows:
        tx.run("documents/write_properties", rows=rows)


def _refuse_reviewed(records: Sequence[DocumentRecord]) -> None:
    """Refuse to approve what waits no more.

    Raises:
        Conflict: somebody else was faster; nothing is stored.
    """
    for each in records:
        if each.approves is not None:
            raise Conflict(f"{each.document!r} was approved, rejected or replaced meanwhile: list what waits")


def _lock(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, Row]:
    """Hold the documents; by id, what each was before."""
    rows = [
        {"document_id": each.document_id, "document": each.document, "approves": each.approves}
        for each in sorted(records, key=lambda each: each.document_id)
    ]
    found = tx.run("documents/lock", ontology=records[0].ontology, documents=rows)
    if any(row["document_id"] is None for row in found):
        raise DeletedMeanwhile
    return {row["document_id"]: row for row in found}


def _find_differences(
    tx: Transaction, changed: Sequence[tuple[DocumentRecord, Row]]
) -> list[DocumentDifference]:
    """Of new documents nothing is read: there is nothing."""
    places: dict[str, list[Row]] = {row["document_id"]: [] for _, row in changed}
    there = [row["document_id"] for _, row in changed if row["content_hash"] is not None]
    for row in tx.run("documents/source_places", document_ids=there) if there else ():
        places[row["document_id"]].append(row)
    return [find_difference(record, before, places[before["document_id"]]) for record, before in changed]
