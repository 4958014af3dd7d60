"""Search page and question page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, get_args

import anyio
import structlog
from anyio.to_thread import run_sync
from fastapi import Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from kg_api.access.keys import narrowed
from kg_api.container import Container
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.filters import count_facets, read_keys
from kg_api.graph.judgements import relevances
from kg_api.graph.names import names_of_ontologies, searched
from kg_api.schemas.answers import Answered, AnswerRequest, Statement
from kg_api.schemas.evaluation import question_text
from kg_api.schemas.filters import KNOWN_FIELDS, FacetCounts, FacetRequest, field_of
from kg_api.schemas.search import SourceHits
from kg_api.schemas.vocabulary import MAX_CURSOR_CHARACTERS, MAX_FACETS, MAX_PAGED_HITS, SearchMode
from kg_api.search.answer import Writing
from kg_api.spaces.registry import is_paid
from kg_api.web.api.documents import list_ontologies
from kg_api.web.api.search import closed_after
from kg_api.web.shared.dependencies import Open
from kg_api.web.shared.limits import valid
from kg_api.web.shared.scoped import Routes
from kg_api.web.ui.rendering import (
    HEADERS,
    KINDS,
    MAX_CHARACTERS,
    USUAL,
    WAYS,
    AskedQuestion,
    Named,
    Question,
    begun_conditions,
    render,
    render_pieces,
    wants_part,
)

pages = Routes()

MAX_NAME: Final = 1000
Text = Annotated[str, Query(max_length=MAX_CHARACTERS)]

log = structlog.get_logger()


@pages.get("/ui/ask", "read", filtered=True)
def asking_page(
    container: Open, q: Text = "", ontology: Named = "", mode: SearchMode = USUAL
) -> HTMLResponse:
    question = Question(q, ontology, mode)
    searched(container.graph, [ontology] if ontology else None)
    return render("asking/page.html", _shown(container, question))


@pages.post("/ui/ask", "read", filtered=True, response_model=None)
def ask(
    container: Open,
    q: Annotated[str, Form(max_length=MAX_CHARACTERS)] = "",
    ontology: Annotated[str, Form(max_length=MAX_NAME)] = "",
    mode: Annotated[SearchMode, Form()] = USUAL,
) -> HTMLResponse | StreamingResponse:
    """Answer a question with a streamed page.

    A redirect would need a stored answer, or ask the language model on each visit. So the form itself returns
    the answer, and a script replaces the URL by the URL of the empty form with the question.
    """
    question = Question(q, ontology, mode)
    asked = {"question": q, "ontology": ontology or None, "mode": mode}
    request = narrowed(container.graph, valid(AnswerRequest, asked))
    shown = _shown(container, question)
    if shown["missing"]:
        return render("asking/page.html", shown)
    writing = container.answer.begin(request)
    return AnswerPage(writing, {**shown, "answer": ComingAnswer(writing)})


def _shown(container: Container, question: Question) -> dict[str, object]:
    missing = None
    try:
        container.answer.model_name()
    except InvalidInput as error:
        missing = str(error)
    ways = {way: name for way, name in WAYS.items() if way in get_args(SearchMode)}
    shown = {"question": question, "ontologies": names_of_ontologies(container.graph), "ways": ways}
    return {**shown, "missing": missing, "answer": None}


@dataclass(slots=True)
class ComingAnswer:
    writing: Writing
    whole: Answered | None = field(default=None, init=False)
    failure: str | None = field(default=None, init=False)
    """Error after a part of the page was sent."""

    def statements(self) -> Iterator[Statement]:
        """Yield the checked statements. Afterwards, `whole` or `failure` is set."""
        try:
            for each in self.writing:
                if isinstance(each, Answered):
                    self.whole = each
                else:
                    yield each
        except KgError as error:
            log.error("answer failed", error=type(error).__name__, detail=str(error))  # noqa: TRY400 - shown
            self.failure = str(error)


class AnswerPage(StreamingResponse):
    def __init__(self, writing: Writing, shown: dict[str, object]) -> None:
        pieces = render_pieces("asking/page.html", shown)
        super().__init__(_in_own_thread(pieces), headers=HEADERS, media_type="text/html")
        self._writing = writing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with closed_after(self._writing):
            await super().__call__(scope, receive, send)


async def _in_own_thread(pieces: Iterator[str]) -> AsyncGenerator[str]:
    own_thread = anyio.CapacityLimiter(1)  # do not block threads of other requests
    while (piece := await run_sync(next, pieces, None, limiter=own_thread)) is not None:
        yield piece


# Search page with results during typing

ALWAYS: Final = ({"field": "ontology"}, {"field": "format"})
USUAL_FACETS: Final = (
    {"field": "author"},
    {"field": "tags"},
    {"field": "language"},
    {"field": "date", "by": "year"},
)
FACET_VALUES: Final = 8
TRIGGER: Final = "HX-Trigger"
"""Request header with the id of the element that triggered htmx."""
BOX: Final = "q"
Seen = Annotated[int, Query(ge=0, le=MAX_PAGED_HITS)]
Cursor = Annotated[str, Query(max_length=MAX_CURSOR_CHARACTERS)]


@pages.get("/ui", "read", filtered=True)
@pages.get("/ui/", "read", filtered=True)
def first_page() -> Response:
    return RedirectResponse("/ui/search", 303)


@pages.get("/ui/search", "read", filtered=True)
def search_page(
    request: Request, container: Open, question: AskedQuestion, cursor: Cursor = "", seen: Seen = 0
) -> HTMLResponse:
    """Show the results. During typing, use full-text search if vector search would call a paid provider."""
    is_part = wants_part(request)
    is_paid = not question.is_blank and _is_paid(container, question)
    by_words = is_part and is_paid and request.headers.get(TRIGGER) == BOX
    searched = replace(question, way="text") if by_words else question
    found = None
    if not question.is_blank:
        search = searched.as_search(cursor=cursor or None)
        found = container.search.search(narrowed(container.graph, search))
    shown: dict[str, Any] = {"question": searched, "asked": question, "found": found, "seen": seen}
    shown |= {"is_part": is_part, "by_words": by_words}
    shown["judged"] = judged_hits(container, question, found) if found and question.judging else {}
    if found is None or not is_part:
        shown |= {"ontologies": names_of_ontologies(container.graph), "counts": {}}
    if not is_part:
        shown |= {"known_fields": KNOWN_FIELDS, "fields": begun_conditions(KNOWN_FIELDS), "with_hits": False}
        return render("search/page.html", {**shown, "ways": WAYS, "kinds": KINDS, "is_paid": is_paid})
    part = render("search/results.html", shown)
    if not seen:
        part.headers["HX-Replace-Url"] = question.address()
    return part


@pages.get("/ui/search/overview", "read", filtered=True)
def overview(container: Open, question: AskedQuestion) -> HTMLResponse:
    counts = {each.ontology: each for each in list_ontologies(container).ontologies}
    shown = {"ontologies": list(counts), "counts": counts, "is_paid": _is_paid(container, question)}
    shown |= {"is_part": True, "found": None}
    return render("search/overview.html", shown)


def _is_paid(container: Container, question: Question) -> bool:
    return question.way != "text" and asks_providers(container, question.ontology)


def judged_hits(container: Container, question: Question, found: SourceHits) -> dict[str, int]:
    """Return the relevance judgements of results by source id."""
    sources = [(hit.ontology, hit.source_id) for hit in found.sources]
    return relevances(container.graph, question_text(question.text), sources)


def asks_providers(container: Container, ontology: str) -> bool:
    """Return whether vector search calls a service that is probably paid."""
    try:
        asked = container.search.spaces_asked([ontology] if ontology else None)
    except KgError:
        return False  # the search itself reports the error
    return any(is_paid(container.settings, each) for each in asked)


@pages.get("/ui/search/facets", "read", filtered=True)
def facets(container: Open, question: AskedQuestion) -> HTMLResponse:
    within = searched(container.graph, [question.ontology] if question.ontology else None)
    keys = read_keys(container.graph, within)
    asked = {
        "fields": fields_to_count(keys),
        "ontology": within,
        "where": list(question.where) or None,
        "limit": FACET_VALUES,
    }
    counted = count_facets(container.graph, valid(FacetRequest, asked))
    telling = [each for each in counted.facets if tells(each)]
    fields = begun_conditions([*map(field_of, filter(str.strip, keys)), *KNOWN_FIELDS])
    return render(
        "search/facets.html", {"question": question, "facets": telling, "fields": fields, "with_hits": True}
    )


def fields_to_count(keys: Sequence[str]) -> list[dict[str, str]]:
    """Return the fields for facets: common fields first, then other metadata keys."""
    usual = [each for each in USUAL_FACETS if each["field"] in keys]
    named = {each["field"] for each in usual}
    others = [{"field": field_of(key)} for key in keys if key.strip() and key not in named]
    return [*ALWAYS, *usual, *others][:MAX_FACETS]


def tells(counted: FacetCounts) -> bool:
    """Return whether a facet narrows the search: it has several values, and one has several documents."""
    several = len(counted.values) > 1 or counted.missing > 0
    return several and any(each.documents > 1 for each in counted.values)
