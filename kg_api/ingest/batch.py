"""Storing many documents, each with its own outcome: one that cannot be stored costs no other its place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import structlog
from pydantic import ValidationError

from kg_api.errors import InvalidInput, KgError, Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import (
    AskForExtraction,
    StoreResult,
    split_to_transactions,
    store_documents,
)
from kg_api.graph.naming.reach import require
from kg_api.ingest.present import present
from kg_api.ingest.reading import DocumentReader
from kg_api.ingest.records import incoming_of, to_record
from kg_api.models.library.batches import DocumentOutcome
from kg_api.models.library.documents import DocumentRecord, DocumentText
from kg_api.models.problems import SOMETHING_WRONG, Problem, problem_of, problem_of_fields

log = structlog.get_logger()

Prepared = tuple[DocumentRecord, tuple[str, ...]]
"""What is to be stored, and notes that a person should see."""
Part = Sequence[DocumentRecord]
"""What one transaction is to store."""
Stored = dict[str, StoreResult | KgError]
"""By document id, what storing did or why it did not."""


def ingest_each(
    graph: Graph, given: Sequence[Any], reader: DocumentReader, extract: AskForExtraction | None
) -> list[DocumentOutcome]:
    """Check, parse and store documents; what is wrong with one is told of that one.

    Raises:
        Unavailable: nothing can be stored now, and nothing was.
    """
    prepared = _prepare(given, reader)
    records = [each[0] for each in prepared if not isinstance(each, Problem)]
    stored = store_each(graph, records, extract)
    return [_outcome(each, stored) for each in prepared]


def store_each(graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None) -> Stored:
    """Store documents of any ontology, each name once, many a transaction.

    What a transaction cannot store is stored in two of half as many, down to the one that cannot be.

    Raises:
        Unavailable: nothing can be stored now, and nothing was. Where something was, it is the outcome of all
            that was not.
    """
    outcomes: Stored = {}
    waiting = deque(_parts(records))
    while waiting:
        part = waiting.popleft()
        try:
            outcomes.update(_by_id(part, store_documents(graph, part, extract)))
        except Unavailable as error:
            if not any(isinstance(each, StoreResult) for each in outcomes.values()):
                raise
            left = [record for some in (part, *waiting) for record in some]
            return outcomes | _by_id(left, [error] * len(left))
        except KgError as error:
            outcomes.update(_give_up_or_halve(part, error, waiting))
        except Exception:  # the border of a document: one that kg fails on must not stop all others
            log.exception("documents cannot be stored", documents=len(part))
            outcomes.update(_give_up_or_halve(part, KgError(SOMETHING_WRONG), waiting))
    return outcomes


def _give_up_or_halve(part: Part, error: KgError, waiting: deque[Part]) -> Stored:
    if len(part) == 1:
        return _by_id(part, [error])
    half = len(part) // 2
    waiting.extendleft([part[half:], part[:half]])
    return {}


def _by_id(records: Sequence[DocumentRecord], outcomes: Sequence[StoreResult | KgError]) -> Stored:
    return {record.document_id: outcome for record, outcome in zip(records, outcomes, strict=True)}


def _parts(records: Sequence[DocumentRecord]) -> Iterator[Part]:
    of_ontology: dict[str, list[DocumentRecord]] = {}
    for each in records:
        of_ontology.setdefault(each.ontology, []).append(each)
    for some in of_ontology.values():
        yield from split_to_transactions(some)


def _prepare(given: Sequence[Any], reader: DocumentReader) -> list[Prepared | Problem]:
    named: set[tuple[str, str]] = set()
    return [_read(each, reader, named) for each in given]


def _read(given: Any, reader: DocumentReader, named: set[tuple[str, str]]) -> Prepared | Problem:
    """Check and parse one document; of two with one name in one ontology, the later one is refused."""
    try:
        body = DocumentText.model_validate(given)
    except ValidationError as error:
        return problem_of_fields(error.errors())
    if (body.ontology, body.document) in named:
        return problem_of(_named_twice(body.document))
    named.add((body.ontology, body.document))
    try:
        return _parse(body, reader)
    except KgError as error:
        return problem_of(error)
    except Exception:  # the border of a document, as above
        log.exception("a document cannot be parsed", document=body.document)
        return problem_of(KgError(SOMETHING_WRONG))


def _parse(body: DocumentText, reader: DocumentReader) -> Prepared:
    require(body.ontology)
    incoming, notes = reader.from_text(incoming_of(body, body.text))
    record, more = to_record(incoming)
    return record, (*notes, *more)


def _named_twice(document: str) -> InvalidInput:
    return InvalidInput(
        f"document: an earlier one of this batch has the name {document!r} too, and only that was looked at; "
        "give this one another name, or send it in a request of its own"
    )


def _outcome(prepared: Prepared | Problem, stored: Stored) -> DocumentOutcome:
    if isinstance(prepared, Problem):
        return DocumentOutcome(problem=prepared)
    record, notes = prepared
    found = stored[record.document_id]
    if isinstance(found, KgError):
        return DocumentOutcome(problem=problem_of(found))
    return DocumentOutcome(ingested=present(record, found, notes))
