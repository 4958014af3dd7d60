"""The search page: found as somebody types, each hit with its place and why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.access.narrowing import narrowed
from kg_api.bootstrap import Container
from kg_api.errors import KgError
from kg_api.graph.filters.facets import count_facets
from kg_api.graph.filters.matching import read_keys
from kg_api.graph.judgements.library import relevances
from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.models.queries.facets import FacetCounts, FacetRequest
from kg_api.models.queries.filters import KNOWN_FIELDS, field_of
from kg_api.models.queries.judgements import question_text
from kg_api.models.queries.search import SourceHits
from kg_api.models.vocabulary import MAX_CURSOR_CHARACTERS, MAX_FACETS, MAX_PAGED_HITS
from kg_api.spaces.providers import is_paid
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.library.documents import list_ontologies
from kg_api.web.ui.conditions import begun_conditions
from kg_api.web.ui.links import SEARCH
from kg_api.web.ui.questions import KINDS, WAYS, AskedQuestion, Question
from kg_api.web.ui.rendering import render, wants_part

ALWAYS: Final = ({"field": "ontology"}, {"field": "format"})
USUAL_FACETS: Final = (
    {"field": "author"},
    {"field": "tags"},
    {"field": "language"},
    {"field": "date", "by": "year"},
)
FACET_VALUES: Final = 8
TRIGGER: Final = "HX-Trigger"
"""The header in which htmx says by which element it asks."""
BOX: Final = "q"
Seen = Annotated[int, Query(ge=0, le=MAX_PAGED_HITS)]
Cursor = Annotated[str, Query(max_length=MAX_CURSOR_CHARACTERS)]

router = APIRouter(include_in_schema=False)


@router.get("/ui")
@router.get("/ui/")
def first_page() -> Response:
    """Lead to the search."""
    return RedirectResponse(SEARCH, 303)


@router.get(SEARCH)
def search_page(
    request: Request, container: Open, question: AskedQuestion, cursor: Cursor = "", seen: Seen = 0
) -> HTMLResponse:
    """Show what is found; to htmx the hits alone.

    While somebody types, words alone are looked for where meaning would ask a provider at each pause.
    """
    is_part = wants_part(request)
    is_paid = not question.is_blank and _is_paid(container, question)
    by_words = is_part and is_paid and request.headers.get(TRIGGER) == BOX
    searched = replace(question, way="text") if by_words else question
    found = None if question.is_blank else _found(container, searched, cursor)
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


@router.get(f"{SEARCH}/overview")
def overview(container: Open, question: AskedQuestion) -> HTMLResponse:
    """Show what each ontology holds and whether meaning is paid for; the page waits for neither."""
    counts = {each.ontology: each for each in list_ontologies(container).ontologies}
    shown = {"ontologies": list(counts), "counts": counts, "is_paid": _is_paid(container, question)}
    shown |= {"is_part": True, "found": None}
    return render("search/overview.html", shown)


def _is_paid(container: Container, question: Question) -> bool:
    return question.way != "text" and asks_providers(container, question.ontology)


def judged_hits(container: Container, question: Question, found: SourceHits) -> dict[str, int]:
    """How hits were judged as answers, by source id."""
    sources = [(hit.ontology, hit.source_id) for hit in found.sources]
    return relevances(container.graph, question_text(question.text), sources)


def _found(container: Container, question: Question, cursor: str) -> SourceHits:
    search = question.as_search(cursor=cursor or None)
    return container.search.search(narrowed(container.graph, search))


def asks_providers(container: Container, ontology: str) -> bool:
    """Whether looking by meaning asks a service that most likely is paid for."""
    try:
        asked = container.search.spaces_asked([ontology] if ontology else None)
    except KgError:
        return False  # the page says what is wrong where it shows hits
    return any(is_paid(container.settings, each) for each in asked)


@router.get(f"{SEARCH}/facets")
def facets(container: Open, question: AskedQuestion) -> HTMLResponse:
    """Show how many documents have which values, each a link that keeps only those."""
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
    """The fields that help to choose: what most documents have first, then what else there is."""
    usual = [each for each in USUAL_FACETS if each["field"] in keys]
    named = {each["field"] for each in usual}
    others = [{"field": field_of(key)} for key in keys if key.strip() and key not in named]
    return [*ALWAYS, *usual, *others][:MAX_FACETS]


def tells(counted: FacetCounts) -> bool:
    """Whether choosing a value leaves fewer documents, and more than one of each."""
    several = len(counted.values) > 1 or counted.missing > 0
    return several and any(each.documents > 1 for each in counted.values)
