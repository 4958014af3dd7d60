"""Storing a document as a difference to what is there, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kg_api.graph.concepts.removal import forget_apart, forget_evidence
from kg_api.graph.database import Graph, Row, Transaction, portions
from kg_api.graph.fulltext.scopes import scope_of_source
from kg_api.graph.jobs import request_job
from kg_api.graph.spaces.configuration import StoredConfiguration, read_configuration
from kg_api.models.library.documents import DocumentRecord, SourceRecord, StoredChange

AskForExtraction = Callable[[Transaction, str, int], None]
"""Has so many sources of an ontology read, within the transaction that stores them."""
SOURCES_A_STATEMENT = 1000


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What storing did, the job that embeds what is new, and how much is to be read."""

    change: StoredChange
    job_id: str | None
    unread: int = 0
    """Sources to be read for concepts: new ones, and those whose blocks are of other kinds than before."""


@dataclass(frozen=True, slots=True)
class _Difference:
    new: list[SourceRecord]
    moved: list[SourceRecord]
    other_blocks: list[SourceRecord]
    """Those that stay and whose blocks are others than are stored, or are not stored yet."""
    gone: list[str]
    kept: int
    new_headings: bool
    """Whether a source that stays has come under another heading."""
    new_order: bool
    """Whether those that stay follow each other otherwise."""
    new_blanks: bool
    """Whether other blanks are behind one that stays: chunks and windows over several sources hold them."""


def store_document(
    graph: Graph, record: DocumentRecord, extract: AskForExtraction | None = None
) -> StoreResult:
    """Store a document and ask for the embedding and reading of its new sources, all in one transaction.

    Sources that say the same as before keep node, vector and evidence, wherever they moved.

    Raises:
        DatabaseUnavailable: Neo4j does not answer; nothing was stored.
    """
    forget_evidence_of_gone(graph, record)
    return graph.transaction(storing(record, extract))


def forget_evidence_of_gone(graph: Graph, record: DocumentRecord) -> None:
    """Before a document is stored that loses many sources: their evidence goes in parts."""
    stored = graph.read("sources/ids_of_document", document_id=record.document_id)
    kept = {source.source_id for source in record.sources}
    forget_apart(graph, [row["source_id"] for row in stored if row["source_id"] not in kept])


def storing(
    record: DocumentRecord, extract: AskForExtraction | None = None
) -> Callable[[Transaction], StoreResult]:
    """What `store_document` does, for a transaction of the caller's; the same one may run it twice."""
    return _Call(record, uuid.uuid4().hex, extract).store


def preview_document(graph: Graph, record: DocumentRecord) -> tuple[StoredChange, list[SourceRecord]]:
    """What storing a document would do, and its sources that would be new; nothing is stored."""
    rows = graph.read("documents/stored", document_id=record.document_id)
    before: Row = rows[0] if rows else {"content_hash": None, "uri": None, "sources": 0}
    if before["content_hash"] == record.content_hash:
        return StoredChange("unchanged", 0, before["sources"], 0, None), []
    places = graph.read("documents/source_places", document_id=record.document_id)
    difference = _difference(places, record.sources)
    return _change(before, record, difference), difference.new


class _Call:
    """One call of store_document, which may run its transaction twice when the answer to a commit is lost.

    Then it finds its own work, knows it by its mark, and gives the outcome of the first run.
    """

    def __init__(self, record: DocumentRecord, mark: str, extract: AskForExtraction | None) -> None:
        self._record = record
        self._extract = extract
        self._mark = mark
        self._outcome: StoreResult | None = None

    def store(self, tx: Transaction) -> StoreResult:
        """Store the document, unless this call has done so."""
        before = _lock(tx, self._record)
        if self._outcome is None or before["written_by"] != self._mark:
            self._outcome = _store(tx, self._record, before, self._mark)
            if self._extract is not None and (unread := self._outcome.unread):
                self._extract(tx, self._record.ontology, unread)
        return self._outcome


def _lock(tx: Transaction, record: DocumentRecord) -> Row:
    return tx.run(
        "documents/lock",
        ontology=record.ontology,
        document_id=record.document_id,
        document=record.document,
    )[0]


def _store(tx: Transaction, record: DocumentRecord, before: Row, mark: str) -> StoreResult:
    if before["content_hash"] == record.content_hash:
        return StoreResult(StoredChange("unchanged", 0, before["sources"], 0, None), None)
    places = tx.run("documents/source_places", document_id=record.document_id)
    difference = _difference(places, record.sources)
    stored = read_configuration(tx, record.ontology)
    unread = len(difference.new) + _set_blocks(tx, difference)
    bereft = _write(tx, record, difference)
    if before["title"] != record.title and difference.kept:
        _set_title(tx, record, difference)
    tx.run("documents/describe", document_id=record.document_id, properties=_properties(record, mark))
    due = len(bereft) + _look_again(tx, before, record, difference, stored)
    wanted = due and stored.embed_on_ingest and not stored.paused
    job_id = request_job(tx, "source_embedding", record.ontology, added=due) if wanted else None
    return StoreResult(_change(before, record, difference), job_id, unread)


def _look_again(
    tx: Transaction, before: Row, record: DocumentRecord, difference: _Difference, stored: StoredConfiguration
) -> int:
    """Let sources be planned anew whose chunks or contexts the change may touch; how many are due now."""
    broken = tx.run("chunks/delete_broken", document_id=record.document_id)
    shared = {identity for row in broken for identity in row["shared"]}
    changed = bool(
        difference.new
        or difference.gone
        or difference.new_headings
        or difference.new_order
        or difference.new_blanks
    )
    described = (before["title"], before["metadata"]) != (record.title, record.metadata)
    configs = [layout.config(embed_on_ingest=True) for layout in stored.layouts]
    has_context = any(config.context != "none" for config in configs)
    crosses = any(config.crosses_sources for config in configs)
    with_context = has_context and (described or difference.new_headings)
    if difference.kept and (with_context or (changed and crosses)):
        mark_property = stored.answering.mark_property
        row = tx.run("sources/unmark_document", document_id=record.document_id, mark_property=mark_property)
        return int(row[0]["unmarked"]) + len(difference.new) + len(shared)
    return len(difference.new) + len(shared)


def _difference(rows: Sequence[Row], sources: Sequence[SourceRecord]) -> _Difference:
    stored = {row["source_id"]: row for row in rows}
    new = [source for source in sources if source.source_id not in stored]
    kept = [source for source in sources if source.source_id in stored]
    pairs = [(source, _source_row(source), stored[source.source_id]) for source in kept]
    moved = [source for source, row, known in pairs if _place(row) != _place(known)]
    other_blocks = [source for source, row, known in pairs if _blocks(row) != _blocks(known)]
    gone = sorted(stored.keys() - {source.source_id for source in sources})
    new_headings = any(list(source.heading) != list(stored[source.source_id]["heading"]) for source in moved)
    before = sorted((source.source_id for source in kept), key=lambda each: stored[each]["paragraph"])
    new_order = before != [source.source_id for source in kept]
    new_blanks = any(source.full_text != stored[source.source_id]["full_text"] for source in moved)
    return _Difference(new, moved, other_blocks, gone, len(kept), new_headings, new_order, new_blanks)


def _place(row: Row) -> tuple[Any, ...]:
    return (row["paragraph"], row["start"], row["end"], tuple(row["heading"]), row["full_text"])


def _blocks(row: Row) -> Row:
    return {name: row[name] for name in ("source_id", "block_kinds", "block_starts")}


def _source_row(source: SourceRecord) -> Row:
    return {
        "source_id": source.source_id,
        "paragraph": source.paragraph,
        "heading": list(source.heading),
        "full_text": source.full_text,
        "content_hash": source.content_hash,
        "start": source.start,
        "end": source.end,
        "block_kinds": [block.kind for block in source.blocks],
        "block_starts": [block.start for block in source.blocks],
    }


def _to_source_row(record: DocumentRecord, source: SourceRecord) -> Row:
    """A source with all that full text finds it by."""
    return {**_source_row(source), "scope": _scope(record, source)}


def _scope(record: DocumentRecord, source: SourceRecord) -> list[str]:
    texts = (source.full_text, *source.heading, record.title, record.document)
    return scope_of_source(record.ontology, record.document_id, texts)


def _set_title(tx: Transaction, record: DocumentRecord, difference: _Difference) -> None:
    """Give the new title to the sources that stay; new ones have it."""
    new = {source.source_id for source in difference.new}
    kept = sorted((each for each in record.sources if each.source_id not in new), key=_by_id)
    for sources in portions(kept, SOURCES_A_STATEMENT):
        rows = [{"source_id": each.source_id, "scope": _scope(record, each)} for each in sources]
        tx.run("sources/set_title", rows=rows, title=record.title)


def _by_id(source: SourceRecord) -> str:
    return source.source_id


def _write(tx: Transaction, record: DocumentRecord, difference: _Difference) -> set[str]:
    """Write the difference; give the sources that lost a chunk which they shared with one that has gone."""
    bereft: set[str] = set()
    forget_evidence(tx, difference.gone)
    for ids in portions(difference.gone, SOURCES_A_STATEMENT):
        bereft.update(tx.run("sources/delete_many", ids=ids)[0]["shared"])
    for rows in portions(sorted(difference.moved, key=_by_id), SOURCES_A_STATEMENT):
        tx.run("sources/move_many", rows=[_to_source_row(record, row) for row in rows])
    for rows in portions(sorted(difference.new, key=_by_id), SOURCES_A_STATEMENT):
        tx.run(
            "sources/create_many",
            rows=[_to_source_row(record, row) for row in rows],
            document_id=record.document_id,
            title=record.title,
        )
    return bereft.difference(difference.gone)


def _set_blocks(tx: Transaction, difference: _Difference) -> int:
    """Write the blocks of sources that stay; how many are to be read for concepts again."""
    rows = [_blocks(_source_row(source)) for source in sorted(difference.other_blocks, key=_by_id)]
    return sum(
        tx.run("sources/set_blocks", rows=part)[0]["unread"] for part in portions(rows, SOURCES_A_STATEMENT)
    )


def _properties(record: DocumentRecord, mark: str) -> Row:
    return {
        "written_by": mark,
        "title": record.title,
        "uri": record.uri,
        "format": record.format,
        "content_hash": record.content_hash,
        "characters": record.characters,
        "metadata": record.metadata,
        "sources": len(record.sources),
    }


def _change(before: Row, record: DocumentRecord, difference: _Difference) -> StoredChange:
    return StoredChange(
        change="created" if before["content_hash"] is None else "updated",
        added=len(difference.new),
        kept=difference.kept,
        removed=len(difference.gone),
        replaced_uri=before["uri"] if before["uri"] not in (None, record.uri) else None,
    )
