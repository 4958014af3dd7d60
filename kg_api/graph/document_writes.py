"""Stores and deletes documents.

Each statement writes the differences of several documents of one ontology. The caller locks the documents.
Workers that embed or extract sources do not, so rows of existing sources are in the order of their ids, as
the workers' rows are.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kg_api.errors import Conflict, NotFound
from kg_api.graph import concept_writes
from kg_api.graph.client import ConcurrentChange, Graph, Row, Transaction, portions
from kg_api.graph.concept_writes import forget_evidence, forget_in_parts
from kg_api.graph.documents import (
    DocumentDifference,
    apply_stored_changes,
    build_block_row,
    build_document_row,
    build_new_row,
    build_placed_row,
    build_scope_tokens,
    build_sent_as,
    build_source_row,
    find_difference,
    find_same_texts,
    read_same_texts,
    unchanged,
)
from kg_api.graph.filters import (
    build_metadata_properties,
    describe_unknown_fields,
    find_matching_documents,
    matches_absent_field,
)
from kg_api.graph.fulltext import require_language
from kg_api.graph.images import Blob, release_holds, to_blobs, write_images, write_originals
from kg_api.graph.jobs import IMAGE_EMBEDDING, SOURCE_EMBEDDING, request_job
from kg_api.graph.library import read_summaries
from kg_api.graph.names import identify_document, is_whole_id, note_on_ontologies, require_ontologies
from kg_api.graph.review import delete_pending_documents, put_waiting
from kg_api.graph.similar import count_sources
from kg_api.graph.spaces import StoredConfiguration, read_configuration
from kg_api.graph.text_analysis import get_aliases
from kg_api.schemas.base import digest
from kg_api.schemas.documents import Deleted, DocumentRecord, SourceRecord, StoredChange
from kg_api.schemas.filters import MAX_SHOWN, DeletedMatching, DocumentDeletion
from kg_api.wording import pluralize

# Storing documents as differences

SOURCES_A_STATEMENT = 1000
AskForExtraction = Callable[[Transaction, str, int], None]
"""Function to request extraction for new sources, in the transaction that stores them."""
MAX_SOURCES_PER_TRANSACTION = 2000
MAX_CHARACTERS_PER_TRANSACTION = 4_000_000
"""Limit of one transaction, unless a single document exceeds it, because Neo4j holds all of it in its heap.
"""


@dataclass(frozen=True, slots=True)
class StoreResult:
    change: StoredChange
    job_id: str | None
    unread: int = 0  # sources to extract: new sources, and sources with changed block kinds


class SentDocument(NamedTuple):
    title: str
    sources: int
    blobs: list[Blob]


def store_document(
    graph: Graph, record: DocumentRecord, extract: AskForExtraction | None = None
) -> StoreResult:
    return store_documents(graph, [record], extract)[0]


def store_documents(
    graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> list[StoreResult]:
    """Store documents in one transaction, and request to embed and extract their new sources."""
    # Sources with the same text keep their node, vector, and evidence, even if they moved.
    forget_evidence_of_gone(graph, records)
    return graph.transaction(storing(records, extract))


def split_to_transactions(records: Sequence[DocumentRecord]) -> Iterator[list[DocumentRecord]]:
    part, sources, characters = list[DocumentRecord](), 0, 0
    for record in records:
        sources, characters = sources + len(record.sources), characters + record.characters
        if part and (sources > MAX_SOURCES_PER_TRANSACTION or characters > MAX_CHARACTERS_PER_TRANSACTION):
            yield part
            part, sources, characters = [], len(record.sources), record.characters
        part.append(record)
    if part:
        yield part


def forget_evidence_of_gone(graph: Graph, records: Sequence[DocumentRecord]) -> None:
    """Delete the evidence for sources that will be removed from a document.

    If there is much, this is done in parts.
    """
    rows = [
        {"document_id": each.document_id, "content_hash": each.content_hash}
        for each in records
        if each.waits_as is None
    ]
    stored = graph.read("sources/ids_of_changed", documents=rows)
    kept = {source.source_id for record in records for source in record.sources} if stored else set[str]()
    gone = [row["source_id"] for row in stored if row["source_id"] not in kept]
    if len(gone) > concept_writes.MAX_SOURCES_PER_TRANSACTION:
        forget_in_parts(graph, gone)


def storing(
    records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> Callable[[Transaction], list[StoreResult]]:
    """Build the work for `store_documents`. It is idempotent, because a transaction may run twice."""
    # After a lost response to a commit, the second run finds its own documents by a mark and returns the
    # first outcome.
    mark, outcomes = uuid.uuid4().hex, dict[str, StoreResult]()

    def store(tx: Transaction) -> list[StoreResult]:
        if waiting := [each for each in records if each.waits_as is not None]:
            changes = put_waiting(tx, waiting)
            outcomes.update({name: StoreResult(change, None) for name, change in changes.items()})
        if wanted := [each for each in records if each.waits_as is None]:
            before, left = _lock(tx, wanted), list[tuple[DocumentRecord, Row]]()
            for each in wanted:
                row = before[each.document_id]
                if each.document_id in outcomes and row["written_by"] == mark:
                    continue
                if each.approves is not None and not row["waited"]:
                    raise Conflict(
                        f"{each.document!r} was approved, rejected, or replaced during the request. "
                        "List the pending documents again"
                    )
                left.append((apply_stored_changes(each, row["changes"]), row))
            outcomes.update(_store(tx, left, mark, extract))
        release_holds(tx, [each.hold for each in records if each.hold])
        return [outcomes[each.document_id] for each in records]

    return store


def find_sent(graph: Graph, document_id: str, sent_hash: str) -> SentDocument | None:
    """Find a document that was read from the same file with the same options, and waits for no approval."""
    rows = graph.read("documents/as_sent", document_id=document_id, sent_hash=sent_hash)
    return next((SentDocument(row["title"], row["sources"], to_blobs(row["blobs"])) for row in rows), None)


def preview_document(graph: Graph, record: DocumentRecord) -> tuple[StoredChange, list[SourceRecord]]:
    """Show what would change if a document was stored, with its new sources."""
    rows = graph.read("documents/stored", document_id=record.document_id)
    before: Row = rows[0] if rows else {"content_hash": None, "uri": None, "sources": 0}
    if before["content_hash"] == record.content_hash:
        return unchanged(before), []
    places = graph.read("documents/source_places", document_ids=[record.document_id])
    difference = find_difference(record, before, places)
    return replace(difference.change, same_text=read_same_texts(graph, record)), difference.new


def _store(
    tx: Transaction, known: Sequence[tuple[DocumentRecord, Row]], mark: str, extract: AskForExtraction | None
) -> dict[str, StoreResult]:
    same = [row for record, row in known if row["content_hash"] == record.content_hash]
    outcomes = {row["document_id"]: StoreResult(unchanged(row), None) for row in same}
    # The file, such as its time, may change although its document is unchanged
    files = list[Row]()
    for record, row in known:
        properties: Row = {}
        if record.has_file_time and row["metadata"] != record.metadata:
            properties = {
                "metadata": record.metadata,
                **build_metadata_properties(record.metadata, row["metadata"]),
            }
        if record.sent_hash and row["sent_as"] != build_sent_as(record):
            properties["sent_as"] = build_sent_as(record)
        if properties and record.document_id in outcomes:
            files.append({"document_id": record.document_id, "properties": properties})
    if files:
        tx.run("documents/write_properties", rows=files)
    wanted = [(record, row) for record, row in known if record.document_id not in outcomes]
    if not wanted:
        return outcomes
    places: dict[str, list[Row]] = {row["document_id"]: [] for _, row in wanted}
    there = [row["document_id"] for _, row in wanted if row["content_hash"] is not None]
    for row in tx.run("documents/source_places", document_ids=there) if there else ():
        places[row["document_id"]].append(row)
    differences = [find_difference(record, row, places[row["document_id"]]) for record, row in wanted]
    return outcomes | _write(tx, differences, mark, extract)


def _write(
    tx: Transaction, differences: Sequence[DocumentDifference], mark: str, extract: AskForExtraction | None
) -> dict[str, StoreResult]:
    """Write documents. Properties that are used by all writers are last, so that locks are short."""
    ontology = differences[0].record.ontology
    stored = read_configuration(tx, ontology)
    new = {each.record.document_id: len(each.new) for each in differences}
    unread, due = _write_sources(tx, differences)
    images = write_images(tx, differences)
    write_originals(tx, differences)
    unread.update(new)
    due.update(new)
    due.update(_unmark_touched(tx, differences, stored))
    rows = [build_document_row(each.record, each.before, mark) for each in differences]
    space = differences[0].before["space"]
    held = tx.run("documents/describe", ontology=ontology, space=space, documents=rows)
    require_language(held, differences[0].language)
    wanted = stored.embed_on_ingest and not stored.paused
    jobs = [
        (request_job(tx, kind, ontology, added=due_of.total(), paused=False), due_of)
        for kind, due_of in ((SOURCE_EMBEDDING, due), (IMAGE_EMBEDDING, images))
        if wanted and due_of.total()
    ]
    if extract is not None and unread.total():
        extract(tx, ontology, unread.total())
    same = find_same_texts(tx, [each.record for each in differences])
    return {
        identity: StoreResult(
            replace(each.change, same_text=same[identity]),
            next((job_id for job_id, due_of in jobs if due_of[identity]), None),
            unread[identity],
        )
        for identity, each in ((each.record.document_id, each) for each in differences)
    }


def _write_sources(
    tx: Transaction, differences: Sequence[DocumentDifference]
) -> tuple[Counter[str], Counter[str]]:
    """Write sources. Count those that have to be extracted or embedded again, by document."""
    owners = _owners(differences)
    blocks = [
        build_block_row(build_source_row(source)) for each in differences for source in each.other_blocks
    ]
    changed = [row for part in _parts(blocks) for row in tx.run("sources/set_blocks", rows=part)]
    gone = [identity for each in differences for identity in each.gone]
    forget_evidence(tx, gone)
    bereft = set[str]()  # sources that shared a chunk with a deleted source
    for ids in portions(sorted(gone), SOURCES_A_STATEMENT):
        bereft.update(tx.run("sources/delete_many", ids=ids)[0]["shared"])
    moved = [
        build_placed_row(each.record, source, each.language) for each in differences for source in each.moved
    ]
    for rows in _parts(moved):
        tx.run("sources/move_many", rows=rows)
    new = [build_new_row(each.record, source, each.language) for each in differences for source in each.new]
    for rows in portions(new, SOURCES_A_STATEMENT):
        tx.run("sources/create_many", rows=rows)
    titles = list[Row]()
    for each in differences:
        title, metadata = each.record.title, each.record.metadata
        for source in each.kept:
            was = each.before["title"], get_aliases(source.paragraph, each.before["metadata"])
            if was != (title, get_aliases(source.paragraph, metadata)):
                scope = build_scope_tokens(each.record, source, each.language)
                titles.append({"source_id": source.source_id, "title": title, "scope": scope})
    for rows in _parts(titles):
        tx.run("sources/set_title", rows=rows)
    return (
        Counter(owners[row["source_id"]] for row in changed),
        Counter(owners[identity] for identity in bereft.difference(gone)),
    )


def _unmark_touched(
    tx: Transaction, differences: Sequence[DocumentDifference], stored: StoredConfiguration
) -> Counter[str]:
    """Set sources to pending if their chunks or contexts can change. Count them by document."""
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    if not there:
        return Counter()
    owners = _owners(differences)
    broken = tx.run("chunks/delete_broken", document_ids=there)
    found = Counter(owners[each] for each in {each for row in broken for each in row["shared"]})
    configs = [layout.config(embed_on_ingest=True) for layout in stored.texts.kept_up]
    crosses = any(config.crosses_sources for config in configs)
    ids = [
        each.record.document_id
        for each in differences
        if each.kept
        and (
            any(each.has_changed_context(config.context, config.context_template) for config in configs)
            or (crosses and each.reshapes)
        )
    ]
    if ids:
        mark_property = stored.texts.answering.mark_property
        rows = tx.run("sources/unmark_documents", document_ids=ids, mark_property=mark_property)
        found.update({row["document_id"]: row["unmarked"] for row in rows})
    return found


def _owners(differences: Sequence[DocumentDifference]) -> dict[str, str]:
    return {source.source_id: each.record.document_id for each in differences for source in each.kept}


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield rows for existing sources in the order that is used by workers to lock them."""
    return portions(sorted(rows, key=lambda row: row["source_id"]), SOURCES_A_STATEMENT)


def _lock(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, Row]:
    """Lock the documents, to get their state by id."""
    rows = [
        {"document_id": each.document_id, "document": each.document, "approves": each.approves}
        for each in sorted(records, key=lambda each: each.document_id)
    ]
    found = tx.run("documents/lock", ontology=records[0].ontology, documents=rows)
    if any(row["document_id"] is None for row in found):
        raise ConcurrentChange
    return {row["document_id"]: row for row in found}


# Deleting documents and ontologies

DOCUMENTS_A_PORTION = 100
Goes = Callable[[Transaction, str], bool]  # locks a document and returns whether it should still be deleted


def delete_document(graph: Graph, document_id: str, goes: Goes = lambda _tx, _id: True) -> Deleted:
    """Delete a document with its sources and chunks. Idempotent."""
    # kg first deletes the evidence of a large document in parts. Repeat an interrupted deletion.

    def delete(tx: Transaction) -> Deleted:
        if not goes(tx, document_id):
            return Deleted(documents=0, sources=0)
        return delete_document_in_transaction(tx, document_id)

    delete_evidence_in_parts(graph, [document_id], goes)
    return graph.transaction(delete)


def delete_by_name(graph: Graph, identifier: str, ontology: str | None = None) -> Deleted:
    """Delete a document by its id, a prefix of its id, or its name."""
    # An unknown document is an error. For a complete id it is only a note, because deletion is idempotent.
    try:
        identity = identify_document(graph, identifier, ontology)
    except NotFound as error:
        if ontology is None and is_whole_id(identifier):
            return Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {error}"])
        raise
    deleted = delete_document(graph, identity)
    if not deleted.documents:
        deleted.notes.append("nothing was deleted: another request deleted the document at the same time")
    return deleted


def delete_ontology(graph: Graph, name: str) -> Deleted:
    """Delete an ontology, one document in each transaction. If it does not exist, add a note."""
    # kg also removes its synced folders, because their next scan would restore the documents.
    graph.write("folders/remove_of_ontology", ontology=name)
    delete_pending_documents(graph, name)
    missing = note_on_ontologies(graph, [name])
    gone = Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {each}" for each in missing])
    while rows := graph.read("ontologies/document_ids", name=name, limit=DOCUMENTS_A_PORTION):
        for row in rows:
            deleted = delete_document(graph, row["document_id"])
            gone.documents += deleted.documents
            gone.sources += deleted.sources
    graph.write("ontologies/delete_empty", name=name)
    return gone


def delete_evidence_in_parts(graph: Graph, document_ids: Sequence[str], goes: Goes) -> None:
    """Delete the evidence for documents that will be deleted. If there is much, this is done in parts."""
    rows = {each: graph.read("sources/ids_of_document", document_id=each) for each in document_ids}
    if sum(map(len, rows.values())) > concept_writes.MAX_SOURCES_PER_TRANSACTION:
        for each, found in rows.items():
            forget_in_parts(graph, [row["source_id"] for row in found], lambda tx, each=each: goes(tx, each))


def delete_document_in_transaction(tx: Transaction, document_id: str) -> Deleted:
    tx.run("documents/hold", document_id=document_id)
    ids = [row["source_id"] for row in tx.run("sources/ids_of_document", document_id=document_id)]
    forget_evidence(tx, ids)
    sources = tx.run("sources/delete_many", ids=ids)[0]["sources"]
    documents = tx.run("documents/delete", document_id=document_id)[0]["documents"]
    return Deleted(documents=documents, sources=sources)


def delete_matching(graph: Graph, request: DocumentDeletion) -> DeletedMatching:
    """Delete the documents that match a filter, each in its own transaction. In a dry run, list them."""
    # An interrupted deletion leaves some documents, for which the digest of an earlier dry run is not valid.
    require_ontologies(graph, request.ontologies)
    matching = find_matching_documents(graph, request.where, request.ontologies, in_order=True)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes: list[str] = []
    if not ids or matches_absent_field(request.where):
        unknown = describe_unknown_fields(graph, request.where, request.ontologies)
        notes += [each.effect for each in unknown]
    if not ids:
        notes.append("nothing was deleted: no document fits the conditions of the filter")
    own_digest = digest("documents", *sorted(ids))
    first = read_summaries(graph, ids[:MAX_SHOWN])
    if request.dry_run or not ids:
        sources = count_sources(graph, list(matching), ids) if ids else 0
        counts: Row = {"documents": len(ids), "sources": sources, "digest": own_digest}
        return DeletedMatching(**counts, notes=notes, dry_run=request.dry_run, first=first)
    other = "nothing was deleted. Repeat with dry_run and check the matching documents"
    if request.expected_digest not in {None, own_digest}:
        raise Conflict(f"other documents fit now than were expected: {other}")

    def check_still_matches(tx: Transaction, document_id: str) -> bool:
        tx.run("documents/hold", document_id=document_id)
        return bool(find_matching_documents(tx, request.where, None, [document_id]))

    gone = Deleted(documents=0, sources=0)
    for each in ids:
        deleted = delete_document(graph, each, check_still_matches)
        gone.documents, gone.sources = gone.documents + deleted.documents, gone.sources + deleted.sources
    if kept := len(ids) - gone.documents:
        notes.append(
            f"{pluralize(kept, 'document')} changed or were deleted during the request and no longer match"
        )
    return DeletedMatching(
        documents=gone.documents, sources=gone.sources, notes=notes, dry_run=False, first=first
    )
