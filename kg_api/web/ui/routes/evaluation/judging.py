"""Judging hits as answers, and the questions that something was judged for."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.graph.judgements.library import delete_judgements, judge, list_judgements, list_questions
from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.models.queries.judgements import JudgedText, JudgementRequest
from kg_api.web.access.audit import note_outcome
from kg_api.web.access.session import viewer
from kg_api.web.dependencies import Offset, Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.ui.links import JUDGEMENTS, address
from kg_api.web.ui.questions import AskedQuestion, Question
from kg_api.web.ui.rendering import render, wants_part
from kg_api.web.ui.sign_in import page_to_show

PAGE_SIZE: Final = 50
MAX_ADDRESS: Final = 40_000
"""Characters: nine for each of a long question that is not ASCII."""

Name = Annotated[str, Form(max_length=1000)]
OntologyName = Annotated[str, Query(max_length=1000)]

router = APIRouter(include_in_schema=False)


@router.get(JUDGEMENTS)
def judgements_page(container: Open, ontology: OntologyName = "", offset: Offset = 0) -> HTMLResponse:
    """Show the questions of an ontology that something was judged for."""
    ontologies = names_of_ontologies(container.graph)
    chosen = ontology or (ontologies[0] if ontologies else "")
    found = list_questions(container.graph, chosen, offset=offset, limit=PAGE_SIZE) if chosen else None
    return render("judging/page.html", {"found": found, "ontology": chosen, "ontologies": ontologies})


@router.post(JUDGEMENTS)
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
    """Keep whether a hit answers, or take it back; to htmx the buttons as they are then."""
    value = None if relevance == "none" else int(relevance)
    given = {"question": question.text, "source_id": source_id, "relevance": value or 0, "by": _name()}
    judgement = valid(JudgementRequest, given)
    if value is None:
        note_outcome(request, delete_judgements(container.graph, of, judgement.question, source_id))
    else:
        note_outcome(request, judge(container.graph, of, judgement))
    if wants_part(request):
        shown = {"question": question, "ontology": of, "source_id": source_id, "relevance": value}
        return render("judging/choice.html", {**shown, "title": title, "back": back})
    return RedirectResponse(page_to_show(request, back) if back else question.address(), 303)


def _name() -> str | None:
    """Of the key that somebody is signed in with."""
    who = viewer()
    return None if who is None else who.name


def _address_of(question: Question, ontology: str) -> str:
    return address(f"{JUDGEMENTS}/question", ontology=ontology, question=question.text)


@router.get(f"{JUDGEMENTS}/question")
def judged_question_page(
    container: Open, ontology: OntologyName, question: Annotated[JudgedText, Query()], offset: Offset = 0
) -> HTMLResponse:
    """Show what was judged for a question, the best first."""
    found = list_judgements(container.graph, ontology, question, offset=offset, limit=PAGE_SIZE)
    asked = Question(question, ontology, judging=True)
    return render("judging/question.html", {"found": found, "question": asked})


@router.get(f"{JUDGEMENTS}/delete")
def deletion_page(
    container: Open, ontology: OntologyName, question: Annotated[JudgedText, Query()]
) -> HTMLResponse:
    """Show what would be taken back."""
    found = list_judgements(container.graph, ontology, question, offset=0, limit=1)
    to = _address_of(Question(question), ontology)
    shown = {"ontology": ontology, "question": question, "total": found.total, "back": to}
    return render("judging/delete.html", shown)


@router.post(f"{JUDGEMENTS}/delete")
def take_back(
    request: Request, container: Open, of: Name, question: Annotated[JudgedText, Form()]
) -> Response:
    """Take back all that was judged for a question."""
    note_outcome(request, delete_judgements(container.graph, of, question, None))
    return RedirectResponse(address(JUDGEMENTS, ontology=of), 303)
