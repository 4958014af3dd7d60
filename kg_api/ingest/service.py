"""Ingestion of text and files: single documents, batches, and reviewed documents.

Steps: read, parse, split, and store sources and jobs in one transaction. Workers embed the sources
afterwards.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from pydantic import TypeAdapter, ValidationError

from kg_api.errors import FilesCollected, InvalidInput, KgError, Unavailable
from kg_api.graph.cache import process_once
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import (
    AskForExtraction,
    StoreResult,
    find_sent,
    preview_document,
    split_to_transactions,
    store_document,
    store_documents,
)
from kg_api.graph.reach import require_visible
from kg_api.graph.review import GivenDocument, count_waiting, read_waiting, reject_waiting
from kg_api.ingest.conversations import consolidate
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, build_incoming, to_record
from kg_api.schemas.base import build_document_id, compute_digest
from kg_api.schemas.documents import (
    MAX_REVIEWED,
    Approval,
    Approved,
    Conversation,
    DocumentOutcome,
    DocumentRecord,
    DocumentText,
    GivenBatch,
    Ingested,
    IngestedBatch,
    Rejected,
    Review,
    SourceChanges,
    SourceRecord,
    StoredChange,
)
from kg_api.schemas.problems import PASSING, SOMETHING_WRONG, Problem, build_field_problem, build_problem

log = structlog.get_logger()

APPROVED_A_REQUEST = 100  # maximum pending documents that one request approves with `all`
_INCOMING = TypeAdapter(Incoming)

Prepared = tuple[DocumentRecord, tuple[str, ...]]  # a record to store, and notes for the user
Stored = dict[str, StoreResult | KgError]


@dataclass(frozen=True, slots=True)
class Preview:
    record: DocumentRecord
    change: StoredChange
    new: list[SourceRecord]
    notes: list[str]


class _NotAll(Exception):
    """Some documents must be sent again, so the response is not cached."""


class IngestService:
    def __init__(self, graph: Graph, reader: DocumentReader, extract: AskForExtraction) -> None:
        self._graph = graph
        self._reader = reader
        self._extract = extract

    def ingest(self, incoming: Incoming, content: bytes | None = None) -> Ingested:
        """Store a text, or a file, whose text replaces `incoming.text`. The same file is read only once."""
        if content is not None:
            require_visible(incoming.ontology)
            incoming = replace(incoming, sent_hash=self._reader.hash_sent(content, incoming))
            if known := self._find_sent(incoming):
                return known
        return self._store(*_read(self._reader, incoming, content))

    def ingest_conversation(self, conversation: Conversation) -> Ingested:
        require_visible(conversation.ontology)
        text, notes = consolidate(conversation.messages, conversation.title)
        incoming = Incoming(
            ontology=conversation.ontology,
            document=conversation.title,
            text=text,
            format="markdown",
            title=conversation.title,
            metadata=conversation.metadata,
        )
        return self._store(*self._reader.read_sent_text(incoming), notes)

    def ingest_batch(self, batch: GivenBatch, key: str | None = None) -> IngestedBatch:
        if key is None:
            return self._ingest_each(batch)
        done: list[IngestedBatch] = []

        def ingest() -> dict[str, Any]:
            if not done:  # the transaction that holds the key may run twice
                done.append(self._ingest_each(batch))
            if any(each.problem and each.problem.status in PASSING for each in done[0].outcomes):
                raise _NotAll
            return done[0].model_dump(mode="json")

        sent = compute_digest("batch", json.dumps(batch.documents, sort_keys=True))
        try:
            answer, _ = self._graph.transaction(lambda tx: process_once(tx, key, sent, ingest))
        except _NotAll:
            return done[0]
        except KgError:  # the batch exceeded the transaction time limit, but its documents are stored
            if done:
                return done[0]
            raise
        return IngestedBatch.model_validate(answer)

    def preview(self, incoming: Incoming, content: bytes | None = None) -> Preview:
        """Return the result of `ingest` without a change."""
        incoming, notes = _read(self._reader.for_previews(), incoming, content)
        record, more = to_record(incoming)
        change, new = preview_document(self._graph, record)
        return Preview(record, change, new, [*notes, *more])

    def _find_sent(self, incoming: Incoming) -> Ingested | None:
        """Return the outcome for a document that was read from the same file, if its images are stored."""
        identity = build_document_id(incoming.ontology, incoming.document)
        found = find_sent(self._graph, identity, incoming.sent_hash or "")
        files = self._reader.images.files
        if found is None or files is None or not files.has_all(found.blobs):
            return None
        return Ingested(
            document_id=identity,
            ontology=incoming.ontology,
            document=incoming.document,
            title=found.title,
            change="unchanged",
            sources=SourceChanges(added=0, kept=found.sources, removed=0),
        )

    def _store(self, incoming: Incoming, read: Sequence[str], notes: Sequence[str] = ()) -> Ingested:
        record, more = to_record(incoming)
        stored = store_document(self._graph, record, self._extract)
        return _present(record, stored, [*notes, *read, *more])

    def _ingest_each(self, batch: GivenBatch) -> IngestedBatch:
        named: set[tuple[str, str]] = set()
        prepared = [self._prepare(each, named) for each in batch.documents]
        stored = store_each(self._graph, _list_records(prepared), self._extract)
        return IngestedBatch(outcomes=[_build_outcome(each, stored) for each in prepared])

    def _prepare(self, given: Any, named: set[tuple[str, str]]) -> Prepared | Problem:
        """Validate and parse one document of a batch."""
        try:
            body = DocumentText.model_validate(given)
        except ValidationError as error:
            return build_field_problem(error.errors(), DocumentText)
        if (body.ontology, body.document) in named:
            return build_problem(
                InvalidInput(
                    "document: an earlier document of this batch has the same name "
                    f"{body.document!r}, and kg processed only that one. Rename this document, or "
                    "send it in a separate request"
                )
            )
        named.add((body.ontology, body.document))
        try:
            require_visible(body.ontology)
            incoming, notes = self._reader.read_sent_text(build_incoming(body, body.text))
            record, more = to_record(incoming)
        except KgError as error:
            return build_problem(error)
        except Exception:  # one failed document must not stop the others
            log.exception("a document cannot be parsed", document=body.document)
            return build_problem(KgError(SOMETHING_WRONG))
        return record, (*notes, *more)


def _read(
    reader: DocumentReader, incoming: Incoming, content: bytes | None
) -> tuple[Incoming, tuple[str, ...]]:
    require_visible(incoming.ontology)
    if content is None:
        return reader.read_sent_text(incoming)
    return reader.from_bytes(content, incoming)


class ReviewService:
    def __init__(self, graph: Graph, extract: AskForExtraction) -> None:
        self._graph = graph
        self._extract = extract

    def approve(self, review: Approval) -> Approved:
        """Store pending documents, each with its own outcome."""
        require_visible(review.ontology)
        limit = APPROVED_A_REQUEST
        found = read_waiting(
            self._graph, review.ontology, review.documents, after=review.after or "", limit=limit
        )
        prepared = [_prepare_waiting(each) for each in found]
        stored = store_each(self._graph, _list_records(prepared), self._extract)
        # kg deleted files of these documents, so their folders must read them again
        lost = [key for key, outcome in stored.items() if isinstance(outcome, FilesCollected)]
        if lost:
            self._graph.write("waiting/forget_files", document_ids=sorted(lost))
        return Approved(
            outcomes=[_build_outcome(each, stored) for each in prepared],
            unknown=_list_unknown(review.documents, {each.document for each in found}),
            next=found[-1].document if review.all and len(found) == limit else None,
        )

    def reject(self, review: Review) -> Rejected:
        """Delete pending documents. Folders remember rejected files."""
        require_visible(review.ontology)
        names = reject_waiting(self._graph, review.ontology, review.documents, limit=MAX_REVIEWED)
        return Rejected(
            rejected=len(names),
            unknown=_list_unknown(review.documents, names),
            waiting=sum(count_waiting(self._graph, review.ontology).values()),
        )


def _prepare_waiting(waiting: GivenDocument) -> Prepared | Problem:
    """Parse a pending document with the current version. Its files are kept while it is pending."""
    try:
        record, notes = to_record(replace(_INCOMING.validate_json(waiting.given), review=False, hold=None))
    except KgError as error:
        return build_problem(error)
    except Exception:  # one failed document must not stop the others
        log.exception("a pending document cannot be parsed", document=waiting.document)
        return build_problem(KgError(SOMETHING_WRONG))
    return replace(record, approves=waiting.version), notes


def store_each(graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None) -> Stored:
    """Store documents, many per transaction. kg bisects a failed transaction to isolate failing documents."""
    by_ontology: dict[str, list[DocumentRecord]] = {}
    for each in records:
        by_ontology.setdefault(each.ontology, []).append(each)
    parts = deque(part for some in by_ontology.values() for part in split_to_transactions(some))
    outcomes: Stored = {}
    while parts:
        part = parts.popleft()
        try:
            for record, result in zip(part, store_documents(graph, part, extract), strict=True):
                outcomes[record.document_id] = result
            continue
        except Unavailable as error:
            if not any(isinstance(each, StoreResult) for each in outcomes.values()):
                raise
            return outcomes | {record.document_id: error for some in (part, *parts) for record in some}
        except KgError as error:
            reason = error
        except Exception:  # one failed document must not stop the others
            log.exception("documents cannot be stored", documents=len(part))
            reason = KgError(SOMETHING_WRONG)
        if len(part) == 1:
            outcomes[part[0].document_id] = reason
        else:
            half = len(part) // 2
            parts.extendleft([part[half:], part[:half]])
    return outcomes


def _list_records(prepared: Sequence[Prepared | Problem]) -> list[DocumentRecord]:
    return [each[0] for each in prepared if not isinstance(each, Problem)]


def _build_outcome(prepared: Prepared | Problem, stored: Stored) -> DocumentOutcome:
    if isinstance(prepared, Problem):
        return DocumentOutcome(problem=prepared)
    record, notes = prepared
    found = stored[record.document_id]
    if isinstance(found, KgError):
        return DocumentOutcome(problem=build_problem(found))
    return DocumentOutcome(ingested=_present(record, found, notes))


def _present(record: DocumentRecord, stored: StoreResult, notes: Sequence[str]) -> Ingested:
    change = stored.change
    replaced = [f"replaces {change.replaced_uri}"] if change.replaced_uri else []
    return Ingested(
        document_id=record.document_id,
        ontology=record.ontology,
        document=record.document,
        title=record.title,
        change=change.change,
        sources=SourceChanges(added=change.added, kept=change.kept, removed=change.removed),
        job_id=stored.job_id,
        duplicate_of=next(iter(change.same_text), None),
        notes=[*notes, *replaced],
    )


def _list_unknown(asked: Sequence[str] | None, found: set[str]) -> list[str]:
    return [each for each in dict.fromkeys(asked or ()) if each not in found]
