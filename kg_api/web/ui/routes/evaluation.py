"""Pages of judged questions and evaluation runs."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import AfterValidator, StringConstraints

from kg_api.errors import InvalidInput
from kg_api.evaluation.saved import LATENCY, SavedResults, find_largest_differences, sort_worst_first
from kg_api.evaluation.scores import get_metric_family, list_families, list_main_metrics, list_ranks
from kg_api.graph.judgements import count_questions, delete_judgements, judge, list_judgements, list_questions
from kg_api.graph.names import list_ontology_names
from kg_api.schemas.base import require_storable
from kg_api.schemas.evaluation import Comparison, JudgedText, JudgementRequest
from kg_api.schemas.vocabulary import MAX_COMPARED
from kg_api.web.shared.dependencies import Offset, Open, Results
from kg_api.web.shared.limits import valid
from kg_api.web.shared.scoped import Routes
from kg_api.web.shared.security import get_current_access, note_outcome, viewer
from kg_api.web.ui.links import address
from kg_api.web.ui.rendering import AskedQuestion, Named, Question, redirect_to_page, render, wants_part
from kg_api.web.ui.sign_in import page_to_show

pages = Routes()

PAGE_SIZE: Final = 50
MAX_ADDRESS: Final = 40_000
"""Maximum length of a URL: nine characters for each in a long non-ASCII query."""

Name = Annotated[str, Form(max_length=1000)]


@pages.get("/ui/judgements", "read", filtered=True)
def judgements_page(container: Open, ontology: Named = "", offset: Offset = 0) -> HTMLResponse:
    ontologies = list_ontology_names(container.graph)
    chosen = ontology or (ontologies[0] if ontologies else "")
    found = list_questions(container.graph, chosen, offset=offset, limit=PAGE_SIZE) if chosen else None
    return render("judging/page.html", {"found": found, "ontology": chosen, "ontologies": ontologies})


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
    judgement = valid(JudgementRequest, fields)
    if value is None:
        note_outcome(request, delete_judgements(container.graph, of, judgement.question, source_id))
    else:
        note_outcome(request, judge(container.graph, of, judgement))
    if wants_part(request):
        context = {"question": question, "ontology": of, "source_id": source_id, "relevance": value}
        return render("judging/choice.html", {**context, "title": title, "back": back})
    return RedirectResponse(page_to_show(request, back) if back else question.address(), 303)


@pages.get("/ui/judgements/question", "read", filtered=True)
def judged_question_page(
    container: Open, ontology: Named, question: Annotated[JudgedText, Query()], offset: Offset = 0
) -> HTMLResponse:
    found = list_judgements(container.graph, ontology, question, offset=offset, limit=PAGE_SIZE)
    judged = Question(question, ontology, judging=True)
    return render("judging/question.html", {"found": found, "question": judged})


@pages.get("/ui/judgements/delete", "read", filtered=True)
def deletion_page(container: Open, ontology: Named, question: Annotated[JudgedText, Query()]) -> HTMLResponse:
    found = list_judgements(container.graph, ontology, question, offset=0, limit=1)
    to = address("/ui/judgements/question", ontology=ontology, question=Question(question).text)
    context = {"ontology": ontology, "question": question, "total": found.total, "back": to}
    return render("judging/delete.html", context)


@pages.post("/ui/judgements/delete", "write", "Delete judgements", filtered=True)
def take_back(
    request: Request, container: Open, of: Name, question: Annotated[JudgedText, Form()]
) -> Response:
    return redirect_to_page(
        request,
        delete_judgements(container.graph, of, question, None),
        address("/ui/judgements", ontology=of),
    )


# Saved results

RUNS_PAGE_SIZE: Final = 30
QUESTIONS: Final = 50
ResultName = Annotated[
    str, StringConstraints(min_length=1, max_length=300), AfterValidator(require_storable), Path()
]


@pages.get("/ui/evaluations", "read", filtered=True)
def runs_page(
    container: Open,
    results: Results,
    ontology: Named = "",
    offset: Offset = 0,
    *,
    done: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    context: dict[str, Any] = {"ontology": ontology, "ontologies": list_ontology_names(container.graph)}
    context["done"] = done
    context |= {"found": results.list_results(ontology or None, offset, RUNS_PAGE_SIZE), "most": MAX_COMPARED}
    context["judged"] = count_questions(container.graph, ontology) if ontology else None
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


@pages.get("/ui/evaluations/one/{name}/delete", "read", filtered=True)
def deletion_page_runs(results: Results, name: ResultName) -> HTMLResponse:
    return render("evaluations/delete.html", {"name": name, "result": results.find(name)})


@pages.post("/ui/evaluations/one/{name}/delete", "write", "Delete a result of an evaluation", filtered=True)
def delete(request: Request, results: Results, name: ResultName) -> Response:
    return redirect_to_page(request, results.delete(name), address("/ui/evaluations", done="result"))


Chosen = Annotated[list[str] | None, Query(alias="name", max_length=MAX_COMPARED)]
FEWEST: Final = 2


@pages.get("/ui/evaluations/compare", "read", filtered=True)
def comparison_page(
    results: Results,
    names: Chosen = None,
    against: Named = "first",
    by: Annotated[str, Query(max_length=100)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    if len(names or ()) < FEWEST:
        raise InvalidInput("select two or more results with the same questions, then Compare")
    found = results.compare(names or [], against)
    context: dict[str, Any] = {"names": names, "against": against, "found": found}
    context |= _measure(found, by) | _questions(results, found, by or found.tests[0].metric, offset)
    return render("evaluations/compare.html", context)


def _measure(found: Comparison, by: str) -> dict[str, Any]:
    """Get the measures for all runs, and the one that is selected with its ranks."""
    first, *others = found.metrics.values()
    shared = [name for name in first if all(name in each for each in others)]
    by = by or found.tests[0].metric
    if by not in shared:
        raise InvalidInput(f"unknown measure {by!r}. Measures: {', '.join(shared)}")
    family = get_metric_family(by)
    return {"by": by, "measures": shared, "family": family, "ranks": list_ranks(shared, family)}


def _questions(results: SavedResults, found: Comparison, by: str, offset: int) -> dict[str, Any]:
    by_label = {label: results.find(name) for label, name in found.results.items()}
    questions = find_largest_differences(by_label, found.baseline, by)
    page = {"offset": offset, "limit": QUESTIONS, "total": len(questions)}
    context = {"questions": questions[offset : offset + QUESTIONS], "page": page}
    return {**context, "baseline": by_label[found.baseline]}
