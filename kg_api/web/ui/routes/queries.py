"""Search page and question page."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, NamedTuple, cast, get_args

import anyio
import structlog
from anyio.to_thread import run_sync
from fastapi import Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from kg_api.access.keys import limit_to_visible
from kg_api.container import Container
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.names import list_ontology_names, list_searched_ontologies
from kg_api.graph.review import read_relevances
from kg_api.schemas.answers import Answered, AnswerRequest, Statement
from kg_api.schemas.evaluation import normalize_question
from kg_api.schemas.filters import KIND, KNOWN_FIELDS, METADATA, OF_TIME, PAGE, format_metadata_field
from kg_api.schemas.search import SourceHit, SourceHits
from kg_api.schemas.vocabulary import MAX_CURSOR_CHARACTERS, MAX_FACETS, MAX_LIMIT, MAX_PAGED_HITS, SearchMode
from kg_api.search.answer import Writing
from kg_api.spaces.registry import is_paid
from kg_api.web.api.documents import list_ontologies
from kg_api.web.api.search import close_answer
from kg_api.web.shared.dependencies import Open
from kg_api.web.shared.limits import validate
from kg_api.web.shared.routes import Routes
from kg_api.web.ui.rendering import (
    HEADERS,
    KINDS,
    MAX_CHARACTERS,
    USUAL,
    WAYS,
    AskedQuestion,
    FieldValue,
    Named,
    Question,
    Typing,
    day,
    list_condition_prefixes,
    read_choice,
    render,
    render_pieces,
    wants_part,
)
from kg_api.wording import find_gap

pages = Routes()

MAX_NAME: Final = 1000
Text = Annotated[str, Query(max_length=MAX_CHARACTERS)]

log = structlog.get_logger()


@pages.get("/ui/ask", "read", filtered=True)
def asking_page(
    container: Open, q: Text = "", ontology: Named = "", mode: SearchMode = USUAL
) -> HTMLResponse:
    question = Question(q, ontology, mode)
    list_searched_ontologies(container.graph, [ontology] if ontology else None)
    return render("asking/page.html", _show(container, question))


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
    fields = {"question": q, "ontology": ontology or None, "mode": mode}
    request = limit_to_visible(container.graph, validate(AnswerRequest, fields))
    context = _show(container, question)
    if context["missing"]:
        return render("asking/page.html", context)
    writing = container.answer.begin(request)
    return AnswerPage(writing, {**context, "answer": StreamedAnswer(writing)})


def _show(container: Container, question: Question) -> dict[str, object]:
    missing = None
    try:
        container.answer.get_model_name()
    except InvalidInput as error:
        missing = str(error)
    ways = {way: name for way, name in WAYS.items() if way in get_args(SearchMode)}
    context = {"question": question, "ontologies": list_ontology_names(container.graph), "ways": ways}
    return {**context, "missing": missing, "answer": None}


@dataclass(slots=True)
class StreamedAnswer:
    writing: Writing
    whole: Answered | None = field(default=None, init=False)
    failure: str | None = field(default=None, init=False)
    """Error after a part of the page was sent."""

    def statements(self) -> Iterator[Statement]:
        """Yield verified statements. Then set `whole` or `failure`."""
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
        super().__init__(_iterate_in_thread(pieces), headers=HEADERS, media_type="text/html")
        self._writing = writing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with close_answer(self._writing):
            await super().__call__(scope, receive, send)


async def _iterate_in_thread(pieces: Iterator[str]) -> AsyncGenerator[str]:
    own_thread = anyio.CapacityLimiter(1)  # do not block threads of other requests
    while (piece := await run_sync(next, pieces, None, limiter=own_thread)) is not None:
        yield piece


# Search page with results during typing

Seen = Annotated[int, Query(ge=0, le=MAX_PAGED_HITS)]
Cursor = Annotated[str, Query(max_length=MAX_CURSOR_CHARACTERS)]


@pages.get("/ui", "read", filtered=True)
@pages.get("/ui/", "read", filtered=True)
def first_page() -> Response:
    return RedirectResponse("/ui/search", 303)


@pages.get("/ui/search", "read", filtered=True)
def search_page(
    request: Request,
    container: Open,
    question: AskedQuestion,
    cursor: Cursor = "",
    seen: Seen = 0,
    *,
    typing: Typing = "",
) -> HTMLResponse:
    """Show the results. While you type, use full text only if vector search would call a paid provider."""
    is_part = wants_part(request)
    is_paid = not question.is_blank and _is_paid(container, question)
    by_words = bool(typing) and is_paid
    found = None
    if not question.is_blank:
        searched = replace(question, way="text") if by_words or typing == "keys" else question
        search = searched.as_search(
            cursor=cursor or None, prefix=bool(typing), include_concepts=typing != "keys"
        )
        found = container.search.search(limit_to_visible(container.graph, search))
    context: dict[str, Any] = {"asked": question, "found": found, "seen": seen, "typing": typing}
    context["question"] = replace(question, way="text") if by_words else question
    context |= {"is_part": is_part, "by_words": by_words}
    context["is_unknown"] = typing and found and all(hit.ranks.text is None for hit in found.sources)
    context["weaker"] = find_gap([hit.score for hit in found.sources]) if found and not seen else None
    context["judged"] = read_judged_hits(container, question, found) if found and question.judging else {}
    if found is None or not is_part:
        context |= {"ontologies": list_ontology_names(container.graph), "counts": {}}
    if not is_part:
        context |= {
            "known_fields": KNOWN_FIELDS,
            "fields": list_condition_prefixes(KNOWN_FIELDS),
            "with_hits": False,
        }
        return render("search/page.html", {**context, "ways": WAYS, "kinds": KINDS, "is_paid": is_paid})
    part = render("search/results.html", context)
    if not seen:
        part.headers["HX-Replace-Url"] = question.address()
    return part


@pages.get("/ui/search/overview", "read", filtered=True)
def overview(container: Open, question: AskedQuestion) -> HTMLResponse:
    counts = {each.ontology: each for each in list_ontologies(container).ontologies}
    context = {"ontologies": list(counts), "counts": counts, "is_paid": _is_paid(container, question)}
    context |= {"is_part": True, "found": None}
    return render("search/overview.html", context)


def _is_paid(container: Container, question: Question) -> bool:
    return question.way != "text" and sends_paid_requests(container, question.ontology)


def read_judged_hits(container: Container, question: Question, found: SourceHits) -> dict[str, int]:
    """Get the judgements for results by source id."""
    sources = [(hit.ontology, hit.source_id) for hit in found.sources]
    return read_relevances(container.graph, normalize_question(question.text), sources)


def sends_paid_requests(container: Container, ontology: str) -> bool:
    """Check if you probably have to pay for vector search."""
    try:
        spaces = container.search.list_query_spaces([ontology] if ontology else None)
    except KgError:
        return False  # the search itself reports the error
    return any(is_paid(container.settings, each) for each in spaces)


# Facets: values of the documents that a question finds

SAMPLE: Final = MAX_LIMIT
"""Number of results to use to count documents."""
FACET_VALUES: Final = 8
USUAL_FACETS: Final = ("ontology", "format", "author", "tags", "language", "date")


class FacetChoice(NamedTuple):
    value: FieldValue
    documents: int
    chosen: bool
    question: Question | None
    """The question with the value chosen, or no longer chosen."""


class FacetChoices(NamedTuple):
    field: str
    values: list[FacetChoice]
    folded: list[FacetChoice]
    """Further values, which the page shows on request."""


@pages.get("/ui/search/facets", "read", filtered=True)
def facets(container: Open, question: AskedQuestion, *, typing: Typing = "") -> HTMLResponse:
    """Count documents in the first results. To count the values for a field, its own filter is not used."""

    def sample(asked: Question) -> SourceHits:
        by_words = _is_paid(container, asked)
        search = replace(asked, way="text") if by_words else asked
        request = search.as_search(SAMPLE, prefix=bool(typing), include_concepts=False)
        return container.search.search(limit_to_visible(container.graph, request))

    if question.is_blank:
        list_searched_ontologies(container.graph, [question.ontology] if question.ontology else None)
        return render(
            "search/facets.html",
            {"facets": [], "fields": list_condition_prefixes(KNOWN_FIELDS), "with_hits": True},
        )
    found = sample(question)
    seen = {format_metadata_field(key) for hit in found.sources for key in hit.metadata if key.strip()}
    fields = sorted(seen, key=lambda each: (each not in USUAL_FACETS, each))
    offered = list_condition_prefixes([*fields, *KNOWN_FIELDS])
    choices = list[FacetChoices]()
    for name in dict.fromkeys([*USUAL_FACETS[:2], *fields, *filter(None, map(get_field, question.where))]):
        hits = sample(question.open(name)).sources if question.chosen(name) else found.sources
        if facet := count_values(hits, name, question):
            choices.append(facet)
    page = {"facets": choices[:MAX_FACETS], "sampled": found.next_cursor and len(found.sources)}
    return render("search/facets.html", {**page, "fields": offered, "with_hits": True})


def get_field(condition: str) -> str | None:
    read = read_choice(condition)
    return read[0] if read and read[0] not in {PAGE, KIND} else None


def count_values(hits: Sequence[SourceHit], field: str, question: Question) -> FacetChoices | None:
    """Count documents for each value of a field. None if you cannot use a value to narrow the results."""
    documents = {hit.document_id: hit for hit in hits}
    values = {each: frozenset(list_values(hit, field)) for each, hit in documents.items()}
    counts = Counter(value for each in values.values() for value in each)
    chosen = question.chosen(field)
    narrows = len(counts) > 1 or (counts and field != "modified" and counts.total() < len(documents))
    if not chosen and not (narrows and max(counts.values()) > 1):
        return None
    first = [*chosen, *(value for value, _ in counts.most_common() if value not in chosen)]
    shown = max(FACET_VALUES, len(chosen))

    def choices(of: list[FieldValue]) -> list[FacetChoice]:
        listed = sorted(of, key=str, reverse=True) if field in OF_TIME else of
        return [FacetChoice(one, counts[one], one in chosen, question.toggle(field, one)) for one in listed]

    return FacetChoices(field, choices(first[:shown]), choices(first[shown:]))


def list_values(hit: SourceHit, field: str) -> Iterator[FieldValue]:
    """Yield the values that a document has for a field. Dates are counted by year."""
    value: object = hit.metadata.get(field.removeprefix(METADATA))
    if field in {"ontology", "format"}:
        value = getattr(hit, field)
    for each in cast("list[object]", value) if isinstance(value, list) else [value]:
        if field in OF_TIME:
            year = day(each)[:4]
            if year.isdecimal():
                yield int(year)
        elif isinstance(each, str | int | float):
            yield each
