"""Storing and deleting documents.

Each statement writes the differences of several documents of one ontology. The caller locks these documents.
Workers lock only the sources that they embed or extract. To avoid deadlocks, kg and its workers write
existing sources in the order of their ids.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kg_api.errors import Conflict, NotFound
from kg_api.graph import concept_writes
from kg_api.graph.client import ConcurrentChange, Graph, Row, Transaction, split_into_portions
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
    build_unchanged,
    find_difference,
    find_same_texts,
    read_same_texts,
)
from kg_api.graph.filters import build_metadata_properties, find_matching_documents, note_matches
from kg_api.graph.fulltext import require_language
from kg_api.graph.images import release_holds, write_images, write_originals
from kg_api.graph.jobs import IMAGE_EMBEDDING, SOURCE_EMBEDDING, request_job
from kg_api.graph.library import read_summaries
from kg_api.graph.names import describe_missing_ontologies, identify_document, is_whole_id, require_ontologies
from kg_api.graph.review import delete_pending_documents, put_waiting
from kg_api.graph.similar import count_sources
from kg_api.graph.spaces import StoredConfiguration, read_configuration
from kg_api.graph.text_analysis import get_aliases
from kg_api.schemas.base import compute_digest
from kg_api.schemas.documents import Deleted, DocumentRecord, SourceRecord, StoredChange
from kg_api.schemas.filters import MAX_SHOWN, DeletedMatching, DocumentDeletion
from kg_api.wording import pluralize

# Storing documents as differences

SOURCES_A_STATEMENT = 1000
AskForExtraction = Callable[[Transaction, str, int], None]
"""Function to request extraction for new sources, in the transaction that stores them."""
MAX_SOURCES_PER_TRANSACTION = 2000
MAX_CHARACTERS_PER_TRANSACTION = 4_000_000
"""Limits of a transaction of several documents, because Neo4j holds all of it in the heap."""


@dataclass(frozen=True, slots=True)
class StoreResult:
    change: StoredChange
    job_id: str | None
    unread: int = 0  # sources to extract: new sources, and sources with changed block kinds


class SentDocument(NamedTuple):
    title: str
    sources: int
    blobs: list[str]  # names of the files


def store_document(
    graph: Graph, record: DocumentRecord, extract: AskForExtraction | None = None
) -> StoreResult:
    return store_documents(graph, [record], extract)[0]


def store_documents(
    graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> list[StoreResult]:
    """Store documents in one transaction, and request jobs to embed and extract their new sources."""
    # Sources with the same text keep their node, vector, and evidence, even if they moved.
    forget_evidence_of_gone(graph, records)
    return graph.transaction(build_storing(records, extract))


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
    """Delete the evidence of sources that new versions of documents do not contain.

    kg does this before the transaction if the evidence is too much for one.
    """
    rows = [
        {"document_id": record.document_id, "content_hash": record.content_hash}
        for record in records
        if record.waits_as is None
    ]
    stored = graph.read("sources/ids_of_changed", documents=rows)
    kept = {source.source_id for record in records for source in record.sources} if stored else set[str]()
    removed = [row["source_id"] for row in stored if row["source_id"] not in kept]
    if len(removed) > concept_writes.MAX_SOURCES_PER_TRANSACTION:
        forget_in_parts(graph, removed)


def build_storing(
    records: Sequence[DocumentRecord], extract: AskForExtraction | None = None
) -> Callable[[Transaction], list[StoreResult]]:
    """Build the idempotent transaction of `store_documents`."""
    # After a lost response to a commit, the transaction runs again. It recognizes its own documents by
    # `write_id` and returns the first outcome.
    write_id, outcomes = uuid.uuid4().hex, dict[str, StoreResult]()

    def store(tx: Transaction) -> list[StoreResult]:
        if pending := [record for record in records if record.waits_as is not None]:
            changes = put_waiting(tx, pending)
            outcomes.update({name: StoreResult(change, None) for name, change in changes.items()})
        if to_store := [record for record in records if record.waits_as is None]:
            stored_rows, locked = _lock(tx, to_store), list[tuple[DocumentRecord, Row]]()
            for record in to_store:
                row = stored_rows[record.document_id]
                if record.document_id in outcomes and row["written_by"] == write_id:
                    continue
                if record.approves is not None and not row["waited"]:
                    raise Conflict(
                        f"{record.document!r} was approved, rejected, or replaced during the request. "
                        "List the pending documents again"
                    )
                locked.append((apply_stored_changes(record, row["changes"]), row))
            outcomes.update(_store(tx, locked, write_id, extract))
        release_holds(tx, [record.hold for record in records if record.hold])
        return [outcomes[record.document_id] for record in records]

    return store


def find_sent(graph: Graph, document_id: str, sent_hash: str) -> SentDocument | None:
    """Find a document that was read from the same file with the same options, and is not pending."""
    rows = graph.read("documents/as_sent", document_id=document_id, sent_hash=sent_hash)
    return next((SentDocument(**row) for row in rows), None)


def preview_document(graph: Graph, record: DocumentRecord) -> tuple[StoredChange, list[SourceRecord]]:
    """Return the change that storing a document would cause, and its new sources."""
    rows = graph.read("documents/stored", document_id=record.document_id)
    before: Row = rows[0] if rows else {"content_hash": None, "uri": None, "sources": 0}
    if before["content_hash"] == record.content_hash:
        return build_unchanged(before), []
    places = graph.read("documents/source_places", document_ids=[record.document_id])
    difference = find_difference(record, before, places)
    return replace(difference.change, same_text=read_same_texts(graph, record)), difference.new


def _store(
    tx: Transaction,
    records: Sequence[tuple[DocumentRecord, Row]],
    write_id: str,
    extract: AskForExtraction | None,
) -> dict[str, StoreResult]:
    unchanged_rows = [row for record, row in records if row["content_hash"] == record.content_hash]
    outcomes = {row["document_id"]: StoreResult(build_unchanged(row), None) for row in unchanged_rows}
    # Properties of the file, such as its time, can change although the text is unchanged
    files = list[Row]()
    for record, row in records:
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
    changed = [(record, row) for record, row in records if record.document_id not in outcomes]
    if not changed:
        return outcomes
    places: dict[str, list[Row]] = {row["document_id"]: [] for _, row in changed}
    existing_ids = [row["document_id"] for _, row in changed if row["content_hash"] is not None]
    for row in tx.run("documents/source_places", document_ids=existing_ids) if existing_ids else ():
        places[row["document_id"]].append(row)
    differences = [find_difference(record, row, places[row["document_id"]]) for record, row in changed]
    return outcomes | _write(tx, differences, write_id, extract)


def _write(
    tx: Transaction,
    differences: Sequence[DocumentDifference],
    write_id: str,
    extract: AskForExtraction | None,
) -> dict[str, StoreResult]:
    """Write documents. Nodes that all writers lock are written last, so that locks are short."""
    ontology = differences[0].record.ontology
    stored = read_configuration(tx, ontology)
    new_sources = {each.record.document_id: len(each.new) for each in differences}
    unread, to_embed = _write_sources(tx, differences)
    images = write_images(tx, differences)
    write_originals(tx, differences)
    unread.update(new_sources)
    to_embed.update(new_sources)
    to_embed.update(_set_touched_sources_pending(tx, differences, stored))
    rows = [build_document_row(each.record, each.before, write_id) for each in differences]
    space = differences[0].before["space"]
    ontology_rows = tx.run("documents/describe", ontology=ontology, space=space, documents=rows)
    require_language(ontology_rows, differences[0].language)
    must_embed = stored.embed_on_ingest and not stored.paused
    jobs = [
        (request_job(tx, kind, ontology, added=counts.total(), paused=False), counts)
        for kind, counts in ((SOURCE_EMBEDDING, to_embed), (IMAGE_EMBEDDING, images))
        if must_embed and counts.total()
    ]
    if extract is not None and unread.total():
        extract(tx, ontology, unread.total())
    same_texts = find_same_texts(tx, [each.record for each in differences])
    return {
        identity: StoreResult(
            replace(each.change, same_text=same_texts[identity]),
            next((job_id for job_id, counts in jobs if counts[identity]), None),
            unread[identity],
        )
        for identity, each in ((each.record.document_id, each) for each in differences)
    }


def _write_sources(
    tx: Transaction, differences: Sequence[DocumentDifference]
) -> tuple[Counter[str], Counter[str]]:
    """Write sources. Return by document how many existing sources to extract and to embed again."""
    document_ids = _map_sources_to_documents(differences)
    blocks = [
        build_block_row(build_source_row(source)) for each in differences for source in each.other_blocks
    ]
    changed = [row for part in _sort_in_batches(blocks) for row in tx.run("sources/set_blocks", rows=part)]
    removed = [identity for each in differences for identity in each.gone]
    forget_evidence(tx, removed)
    sharing = set[str]()  # sources that shared a chunk with a deleted source
    for ids in split_into_portions(sorted(removed), SOURCES_A_STATEMENT):
        sharing.update(tx.run("sources/delete_many", ids=ids)[0]["shared"])
    moved = [
        build_placed_row(each.record, source, each.language) for each in differences for source in each.moved
    ]
    for rows in _sort_in_batches(moved):
        tx.run("sources/move_many", rows=rows)
    new = [build_new_row(each.record, source, each.language) for each in differences for source in each.new]
    for rows in split_into_portions(new, SOURCES_A_STATEMENT):
        tx.run("sources/create_many", rows=rows)
    titles = list[Row]()
    for each in differences:
        title, metadata = each.record.title, each.record.metadata
        for source in each.kept:
            previous = (each.before["title"], get_aliases(source.paragraph, each.before["metadata"]))
            if previous != (title, get_aliases(source.paragraph, metadata)):
                scope = build_scope_tokens(each.record, source, each.language)
                titles.append({"source_id": source.source_id, "title": title, "scope": scope})
    for rows in _sort_in_batches(titles):
        tx.run("sources/set_title", rows=rows)
    return (
        Counter(document_ids[row["source_id"]] for row in changed),
        Counter(document_ids[identity] for identity in sharing.difference(removed)),
    )


def _set_touched_sources_pending(
    tx: Transaction, differences: Sequence[DocumentDifference], stored: StoredConfiguration
) -> Counter[str]:
    """Set existing sources to pending if their chunks or contexts can change. Count them by document."""
    existing_ids = [
        each.record.document_id for each in differences if each.before["content_hash"] is not None
    ]
    if not existing_ids:
        return Counter()
    document_by_source = _map_sources_to_documents(differences)
    broken = tx.run("chunks/delete_broken", document_ids=existing_ids)
    pending = Counter(document_by_source[each] for each in {each for row in broken for each in row["shared"]})
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
        pending.update({row["document_id"]: row["unmarked"] for row in rows})
    return pending


def _map_sources_to_documents(differences: Sequence[DocumentDifference]) -> dict[str, str]:
    return {source.source_id: each.record.document_id for each in differences for source in each.kept}


def _sort_in_batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield batches of existing sources, in the order in which workers lock sources."""
    return split_into_portions(sorted(rows, key=lambda row: row["source_id"]), SOURCES_A_STATEMENT)


def _lock(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, Row]:
    """Lock the documents, and return their state by id."""
    rows = [
        {"document_id": record.document_id, "document": record.document, "approves": record.approves}
        for record in sorted(records, key=lambda record: record.document_id)
    ]
    locked = tx.run("documents/lock", ontology=records[0].ontology, documents=rows)
    if any(row["document_id"] is None for row in locked):
        raise ConcurrentChange
    return {row["document_id"]: row for row in locked}


# Deleting documents and ontologies

DOCUMENTS_A_PORTION = 100
ShouldDelete = Callable[[Transaction, str], bool]
"""Function that locks a document and returns whether it should still be deleted."""


def delete_document(
    graph: Graph, document_id: str, should_delete: ShouldDelete = lambda _tx, _id: True
) -> Deleted:
    """Delete a document with its sources and chunks. Idempotent."""
    # kg first deletes the evidence of a large document in parts. Repeat an interrupted deletion.

    def delete(tx: Transaction) -> Deleted:
        if not should_delete(tx, document_id):
            return Deleted(documents=0, sources=0)
        return delete_document_in_transaction(tx, document_id)

    delete_evidence_in_parts(graph, [document_id], should_delete)
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
    """Delete an ontology, one document in each transaction. A missing ontology becomes a note."""
    # kg also removes its synced folders, because their next scan would restore the documents.
    folders = graph.write("folders/remove_of_ontology", ontology=name)[0]["folders"]
    pending = delete_pending_documents(graph, name)
    missing = [] if pending else describe_missing_ontologies(graph, [name])
    total = Deleted(documents=0, sources=0, notes=[f"nothing was deleted: {each}" for each in missing])
    if pending:
        total.notes.append(f"also deleted: {pluralize(pending, 'document')} waiting for approval")
    if folders:
        total.notes.append(f"kg no longer syncs {pluralize(folders, 'folder')} to {name!r}. The files stay")
    while rows := graph.read("ontologies/document_ids", name=name, limit=DOCUMENTS_A_PORTION):
        for row in rows:
            deleted = delete_document(graph, row["document_id"])
            total.documents += deleted.documents
            total.sources += deleted.sources
    graph.write("ontologies/delete_empty", name=name)
    return total


def delete_evidence_in_parts(graph: Graph, document_ids: Sequence[str], should_delete: ShouldDelete) -> None:
    """Delete the evidence of documents in several transactions if it is too much for one."""
    rows = {each: graph.read("sources/ids_of_document", document_id=each) for each in document_ids}
    if sum(map(len, rows.values())) > concept_writes.MAX_SOURCES_PER_TRANSACTION:
        for each, sources in rows.items():
            forget_in_parts(
                graph, [row["source_id"] for row in sources], lambda tx, each=each: should_delete(tx, each)
            )


def delete_document_in_transaction(tx: Transaction, document_id: str) -> Deleted:
    tx.run("documents/hold", document_id=document_id)
    ids = [row["source_id"] for row in tx.run("sources/ids_of_document", document_id=document_id)]
    forget_evidence(tx, ids)
    sources = tx.run("sources/delete_many", ids=ids)[0]["sources"]
    documents = tx.run("documents/delete", document_id=document_id)[0]["documents"]
    return Deleted(documents=documents, sources=sources)


def delete_matching(graph: Graph, request: DocumentDeletion) -> DeletedMatching:
    """Delete the documents that match a filter, each in its own transaction. In a dry run, list them."""
    # After an interruption, the digest of an earlier dry run does not match the remaining documents.
    require_ontologies(graph, request.ontologies)
    matching = find_matching_documents(graph, request.where, request.ontologies, in_order=True)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes = note_matches(graph, request.where, request.ontologies, has_any=bool(ids))
    matching_digest = compute_digest("documents", *sorted(ids))
    first = read_summaries(graph, ids[:MAX_SHOWN])
    if request.dry_run or not ids:
        sources = count_sources(graph, list(matching), ids) if ids else 0
        counts: Row = {"documents": len(ids), "sources": sources, "digest": matching_digest}
        return DeletedMatching(**counts, notes=notes, dry_run=request.dry_run, first=first)
    advice = "nothing was deleted. Repeat the dry run and check the matching documents"
    if request.expected_digest not in {None, matching_digest}:
        raise Conflict(f"other documents match now than in the dry run: {advice}")

    def check_still_matches(tx: Transaction, document_id: str) -> bool:
        tx.run("documents/hold", document_id=document_id)
        return bool(find_matching_documents(tx, request.where, None, [document_id]))

    total = Deleted(documents=0, sources=0)
    for each in ids:
        deleted = delete_document(graph, each, check_still_matches)
        total.documents, total.sources = total.documents + deleted.documents, total.sources + deleted.sources
    if kept := len(ids) - total.documents:
        notes.append(
            f"{pluralize(kept, 'document')} changed or were deleted during the request and no longer match"
        )
    return DeletedMatching(
        documents=total.documents, sources=total.sources, notes=notes, dry_run=False, first=first
    )
