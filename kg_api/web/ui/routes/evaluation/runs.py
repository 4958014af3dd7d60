"""The pages of saved results: all of them, and one with its questions."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.evaluate.extra import HOW, can_measure
from kg_api.evaluate.measuring import MAX_QUESTIONS
from kg_api.evaluate.saved.questions import LATENCY, worst_first
from kg_api.evaluate.scores.measures import families, main_metrics, ranks
from kg_api.graph.judgements.library import count_questions
from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.models.vocabulary import MAX_COMPARED, SearchMode
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Offset, Open, Results
from kg_api.web.routes.evaluation.results import ResultName, delete_evaluation, get_evaluation
from kg_api.web.ui.links import EVALUATIONS, address
from kg_api.web.ui.rendering import render
from kg_api.web.ui.routes.queries.search import asks_providers

PAGE_SIZE: Final = 30
QUESTIONS: Final = 50
"""On a page."""
MAX_DRAWN: Final = 5000
"""Questions of a result that is fetched to be drawn; the table beside tells the same."""

router = APIRouter(include_in_schema=False)


@router.get(EVALUATIONS)
def runs_page(
    container: Open,
    results: Results,
    ontology: Annotated[str, Query(max_length=1000)] = "",
    offset: Offset = 0,
    *,
    done: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """Show saved results, the newest first, to choose some and compare them."""
    shown: dict[str, Any] = {"ontology": ontology, "ontologies": names_of_ontologies(container.graph)}
    shown["done"] = done
    shown |= {"found": results.page(ontology or None, offset, PAGE_SIZE), "most": MAX_COMPARED}
    judged = count_questions(container.graph, ontology) if ontology else None
    shown |= {"judged": judged, "modes": get_args(SearchMode), "can_measure": can_measure()}
    shown |= {"most_asked": MAX_QUESTIONS, "how": HOW}
    shown["is_paid"] = bool(judged) and asks_providers(container, ontology)
    return render("evaluations/list.html", shown)


@router.get(EVALUATIONS + "/one/{name}")
def run_page(
    request: Request,
    results: Results,
    name: ResultName,
    by: Annotated[str, Query(max_length=100)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show a result: its measures, its times, its configuration, and its questions, the worst first."""
    found = get_evaluation(request, results, name)
    main = main_metrics(found.target, found.metrics) or list(found.metrics)[:1]
    by = by or main[0]
    questions = worst_first(found, by)
    page = {"offset": offset, "limit": QUESTIONS, "total": len(questions)}
    shown: dict[str, Any] = {"name": name, "result": found, "main": main, "by": by, "page": page}
    shown |= {"questions": questions[offset : offset + QUESTIONS], "latency": LATENCY}
    shown |= {"families": {each: ranks(found.metrics, each) for each in families(found.metrics)}}
    shown |= {"drawn": len(questions) <= MAX_DRAWN}
    return render("evaluations/one.html", shown)


@router.get(EVALUATIONS + "/one/{name}/delete")
def deletion_page(results: Results, name: ResultName) -> HTMLResponse:
    """Show which result would be deleted."""
    return render("evaluations/delete.html", {"name": name, "result": results.find(name)})


@router.post(EVALUATIONS + "/one/{name}/delete")
def delete(request: Request, results: Results, name: ResultName) -> Response:
    """Delete a result, and lead to those that are left."""
    note_outcome(request, delete_evaluation(results, name))
    return RedirectResponse(address(EVALUATIONS, done="result"), 303)
