"""Ratings of hits, and pages of evaluation runs."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import AfterValidator, StringConstraints

from kg_api.errors import InvalidInput
from kg_api.evaluation.saved import LATENCY, sort_worst_first
from kg_api.evaluation.scores import get_metric_family, list_families, list_main_metrics, list_ranks
from kg_api.graph.names import list_ontology_names
from kg_api.graph.review import delete_judgements, judge
from kg_api.schemas.base import require_storable
from kg_api.schemas.evaluation import JudgementRequest
from kg_api.schemas.vocabulary import MAX_COMPARED
from kg_api.web.shared.dependencies import Offset, Open, Results
from kg_api.web.shared.limits import validate
from kg_api.web.shared.routes import Routes
from kg_api.web.shared.security import get_current_access, note_outcome, viewer
from kg_api.web.ui.rendering import AskedQuestion, Named, render, wants_part
from kg_api.web.ui.sign_in import choose_page

pages = Routes()

MAX_ADDRESS: Final = 40_000
"""Maximum length of a URL: nine characters for each in a long non-ASCII query."""

Name = Annotated[str, Form(max_length=1000)]


@pages.post("/ui/judgements", "write", "Judge a passage, or take the judgement back", filtered=True)
def judge_hit(
    request: Request,
    container: Open,
    question: AskedQuestion,
    of: Name,
    *,
    source_id: Name,
    relevance: Annotated[Literal["none", "0", "1", "2"], Form()],
    title: Name = "it",
    back: Annotated[str, Form(max_length=MAX_ADDRESS)] = "",
) -> Response:
    value = None if relevance == "none" else int(relevance)
    who = viewer()
    fields: dict[str, Any] = {"question": question.text, "source_id": source_id, "relevance": value or 0}
    fields["by"] = None if who is None else who.name
    judgement = validate(JudgementRequest, fields)
    if value is None:
        note_outcome(request, delete_judgements(container.graph, of, judgement.question, source_id))
    else:
        note_outcome(request, judge(container.graph, of, judgement))
    if wants_part(request):
        context = {"question": question, "ontology": of, "source_id": source_id, "relevance": value}
        return render("judging/choice.html", {**context, "title": title, "back": back})
    return RedirectResponse(choose_page(request, back) if back else question.address(), 303)


# Saved results

RUNS_PAGE_SIZE: Final = 30
QUESTIONS: Final = 50
ResultName = Annotated[
    str, StringConstraints(min_length=1, max_length=300), AfterValidator(require_storable), Path()
]


@pages.get("/ui/evaluations", "read", filtered=True)
def runs_page(container: Open, results: Results, ontology: Named = "", offset: Offset = 0) -> HTMLResponse:
    context: dict[str, Any] = {"ontology": ontology, "ontologies": list_ontology_names(container.graph)}
    context |= {"found": results.list_results(ontology or None, offset, RUNS_PAGE_SIZE), "most": MAX_COMPARED}
    return render("evaluations/list.html", context)


@pages.get("/ui/evaluations/one/{name}", "read", filtered=True)
def run_page(
    request: Request,
    results: Results,
    name: ResultName,
    by: Annotated[str, Query(max_length=100)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    found, access = results.find(name), get_current_access(request)
    if not access.allows("admin") or access.ontologies is not None:
        found = found.model_copy(update={"machine": {}})
    main = list_main_metrics(found.target, found.metrics) or list(found.metrics)[:1]
    by = by or main[0]
    questions = sort_worst_first(found, by)
    page = {"offset": offset, "limit": QUESTIONS, "total": len(questions)}
    context: dict[str, Any] = {"name": name, "result": found, "main": main, "by": by, "page": page}
    context |= {"questions": questions[offset : offset + QUESTIONS], "latency": LATENCY}
    context |= {"families": {each: list_ranks(found.metrics, each) for each in list_families(found.metrics)}}
    return render("evaluations/one.html", context)


Chosen = Annotated[list[str] | None, Query(alias="name", max_length=MAX_COMPARED)]
FEWEST: Final = 2


@pages.get("/ui/evaluations/compare", "read", filtered=True)
def comparison_page(
    results: Results,
    names: Chosen = None,
    against: Named = "first",
    by: Annotated[str, Query(max_length=100)] = "",
) -> HTMLResponse:
    if len(names or ()) < FEWEST:
        raise InvalidInput("select two or more results with the same questions, then Compare")
    found = results.compare(names or [], against)
    first, *others = found.metrics.values()
    shared = [name for name in first if all(name in each for each in others)]
    by = by or found.tests[0].metric
    if by not in shared:
        raise InvalidInput(f"unknown measure {by!r}. Measures: {', '.join(shared)}")
    family = get_metric_family(by)
    context: dict[str, Any] = {"names": names, "against": against, "found": found, "by": by}
    context |= {"measures": shared, "family": family, "ranks": list_ranks(shared, family)}
    return render("evaluations/compare.html", context)
