"""The reading page: a document in its order, from a place on, with the concepts that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse

from kg_api.access.narrowing import narrowed
from kg_api.bootstrap import Container
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.judgements.library import relevances
from kg_api.graph.search.carried import concepts_of
from kg_api.models.queries.judgements import question_text
from kg_api.models.queries.reading import DocumentReading
from kg_api.models.queries.search import SourceHit
from kg_api.models.vocabulary import MAX_LIMIT, MAX_PARAGRAPH
from kg_api.web.dependencies import CalledRead, Open
from kg_api.web.ui.links import READ, below
from kg_api.web.ui.questions import PAGE_SIZE, AskedQuestion, Question, address_of_hit
from kg_api.web.ui.rendering import render, wants_part

BEFORE_HIT: Final = 3
"""Paragraphs."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class HitAmongHits:
    """A hit among those of its search."""

    hit: SourceHit
    earlier: str | None
    """Where the one before it is read; none: it is the first one."""
    later: str | None


@router.get(READ + "/{document_id:path}")
def reading_page(
    request: Request,
    container: Open,
    document_id: CalledRead,
    question: AskedQuestion,
    *,
    start: Annotated[int | None, Query(ge=0, le=MAX_PARAGRAPH)] = None,
    at: Annotated[int | None, Query(ge=0, le=MAX_PARAGRAPH)] = None,
    hit: Annotated[int | None, Query(ge=1, le=MAX_LIMIT)] = None,
) -> HTMLResponse:
    """Show a document from a place on; to htmx the paragraphs alone."""
    reading = _read(container, document_id, start, at)
    here = {"question": question, "at": at, "number": hit, "path": below(READ, reading.document.document_id)}
    concepts = concepts_of(container.graph, [each.source_id for each in reading.sources])
    place = (reading.document.document_id, at)
    found = None if hit is None or question.is_blank else _among_hits(container, question, hit, place)
    shown: dict[str, Any] = {**here, "reading": reading, "concepts": concepts, "found": found}
    shown["judged"] = _judged(container, question, reading)
    return render("reading/part.html" if wants_part(request) else "reading/page.html", shown)


def _judged(container: Container, question: Question, reading: DocumentReading) -> dict[str, int] | None:
    """How passages were judged as answers, by source id; None where nobody judges."""
    if not question.judging or question.is_blank:
        return None
    sources = [(reading.document.ontology, each.source_id) for each in reading.sources]
    return relevances(container.graph, question_text(question.text), sources)


def _read(container: Container, called: str, start: int | None, at: int | None) -> DocumentReading:
    """From a place on; from its beginning, where it has become shorter than that."""
    if start is not None or at is None:
        return container.search.read(called, None, start)
    try:
        return container.search.read(called, None, max(0, at - BEFORE_HIT))
    except InvalidInput:
        return container.search.read(called)


def _among_hits(
    container: Container, question: Question, number: int, place: tuple[str, int | None]
) -> HitAmongHits | None:
    """None where the search has no such hit, or cannot answer: the document is read all the same."""
    try:
        search = question.as_search(limit=min(max(number + 1, PAGE_SIZE), MAX_LIMIT))
        hits = container.search.search(narrowed(container.graph, search)).sources
    except (KgError, RequestValidationError):
        return None
    if number > len(hits) or (hits[number - 1].document_id, hits[number - 1].paragraph) != place:
        return None
    earlier = address_of_hit(question, hits[number - 2], number - 1) if number > 1 else None
    later = address_of_hit(question, hits[number], number + 1) if number < len(hits) else None
    return HitAmongHits(hits[number - 1], earlier, later)
