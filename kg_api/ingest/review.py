"""Approving documents that waited: they are stored as if they came now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog
from pydantic import TypeAdapter

from kg_api.errors import FilesCollected, KgError
from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import AskForExtraction, StoreResult
from kg_api.graph.naming.reach import require
from kg_api.graph.review.waiting import (
    GivenDocument,
    count_waiting,
    forget_waiting_files,
    read_waiting,
    reject_waiting,
)
from kg_api.ingest.batch import Stored, store_each
from kg_api.ingest.present import present
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.library.batches import DocumentOutcome
from kg_api.models.library.documents import DocumentRecord
from kg_api.models.library.review import MAX_REVIEWED, Approval, Approved, Rejected, Review
from kg_api.models.problems import SOMETHING_WRONG, Problem, problem_of

log = structlog.get_logger()

APPROVED_A_REQUEST = 100
"""Of all that wait."""
_GIVEN = TypeAdapter(Incoming)

Prepared = tuple[DocumentRecord, tuple[str, ...]]
"""What is to be stored, and notes that a person should see."""


class ReviewService:
    """Approves and rejects."""

    def __init__(self, graph: Graph, extract: AskForExtraction) -> None:
        self._graph = graph
        self._extract = extract

    def approve(self, review: Approval) -> Approved:
        """Store documents that wait, each with its own outcome.

        Raises:
            Unavailable: nothing can be stored now, and nothing was.
        """
        require(review.ontology)
        limit = APPROVED_A_REQUEST
        found = read_waiting(
            self._graph, review.ontology, review.documents, after=review.after or "", limit=limit
        )
        further = review.all and len(found) == limit
        return Approved(
            outcomes=self._store(found),
            unknown=_unknown(review.documents, {each.document for each in found}),
            next=found[-1].document if further else None,
        )

    def reject(self, review: Review) -> Rejected:
        """Let documents wait no more; nothing of them is kept but what files were rejected."""
        require(review.ontology)
        names = reject_waiting(self._graph, review.ontology, review.documents, limit=MAX_REVIEWED)
        return Rejected(
            rejected=len(names),
            unknown=_unknown(review.documents, names),
            waiting=sum(count_waiting(self._graph, review.ontology).values()),
        )

    def _store(self, found: Sequence[GivenDocument]) -> list[DocumentOutcome]:
        prepared = [_prepare(each) for each in found]
        records = [each[0] for each in prepared if not isinstance(each, Problem)]
        stored = store_each(self._graph, records, self._extract) if records else {}
        self._ask_again(stored)
        return [
            DocumentOutcome(problem=each)
            if isinstance(each, Problem)
            else _outcome(each, stored[each[0].document_id])
            for each in prepared
        ]

    def _ask_again(self, stored: Stored) -> None:
        """Let folders bring again what cannot be stored as it waits, though it looks as it did."""
        lost = [key for key, outcome in stored.items() if isinstance(outcome, FilesCollected)]
        if lost:
            forget_waiting_files(self._graph, lost)


def _prepare(waiting: GivenDocument) -> Prepared | Problem:
    """Parsed anew, by the version of kg that stores it; its files are kept because it waits."""
    try:
        record, notes = to_record(replace(_GIVEN.validate_json(waiting.given), review=False, hold=None))
    except KgError as error:
        return problem_of(error)
    except Exception:  # the border of a document: one that kg fails on must not stop all others
        log.exception("a document that waited cannot be parsed", document=waiting.document)
        return problem_of(KgError(SOMETHING_WRONG))
    return replace(record, approves=waiting.version), notes


def _outcome(prepared: Prepared, stored: StoreResult | KgError) -> DocumentOutcome:
    if isinstance(stored, KgError):
        return DocumentOutcome(problem=problem_of(stored))
    return DocumentOutcome(ingested=present(prepared[0], stored, prepared[1]))


def _unknown(asked: Sequence[str] | None, found: set[str]) -> list[str]:
    return [each for each in dict.fromkeys(asked or ()) if each not in found]
