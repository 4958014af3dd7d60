"""The reading page: a document in its order, from a place on, with the concepts that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from kg_api.access.narrowing import narrowed
from kg_api.bootstrap import Container
from kg_api.graph.search.carried import concepts_of
from kg_api.models.queries.search import SourceHit
from kg_api.models.vocabulary import MAX_LIMIT, MAX_PARAGRAPH
from kg_api.web.dependencies import CalledRead, Open
from kg_api.web.ui.links import READ, below
from kg_api.web.ui.questions import AskedQuestion, Question, address_of_hit
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
    first = start if start is not None else max(0, (at or 0) - BEFORE_HIT)
    reading = container.search.read(document_id, None, first)
    here = {"question": question, "at": at, "path": below(READ, reading.document.document_id)}
    concepts = concepts_of(container.graph, [each.source_id for each in reading.sources])
    found = None if hit is None or question.is_blank else _among_hits(container, question, hit)
    shown = {**here, "reading": reading, "concepts": concepts, "found": found}
    return render("reading/part.html" if wants_part(request) else "reading/page.html", shown)


def _among_hits(container: Container, question: Question, number: int) -> HitAmongHits | None:
    """None where the search has no such hit any more."""
    search = question.as_search(limit=min(number + 1, MAX_LIMIT))
    hits = container.search.search(narrowed(container.graph, search)).sources
    if number > len(hits):
        return None
    earlier = address_of_hit(question, hits[number - 2], number - 1) if number > 1 else None
    later = address_of_hit(question, hits[number], number + 1) if number < len(hits) else None
    return HitAmongHits(hits[number - 1], earlier, later)
