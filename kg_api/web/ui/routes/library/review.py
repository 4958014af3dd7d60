"""The page of documents that wait until somebody approves them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.graph.review.waiting import count_waiting, list_waiting
from kg_api.ingest.review import APPROVED_A_REQUEST
from kg_api.models.library.review import MAX_REVIEWED, Approval, Approved, Rejected, Review
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Offset, Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.library.review import (
    approve_documents,
    reject_documents,
)
from kg_api.web.ui.links import REVIEW, address
from kg_api.web.ui.rendering import render

PAGE_SIZE: Final = 20

Name = Annotated[str, Form(max_length=10_000)]
Names = Annotated[list[Name], Form(max_length=MAX_REVIEWED)]
Tick = Annotated[bool, Form()]

router = APIRouter(include_in_schema=False)


@router.get(REVIEW)
def review_page(
    container: Open, ontology: Annotated[str, Query(max_length=1000)] = "", offset: Offset = 0
) -> HTMLResponse:
    """Show documents that wait, by ontology and name."""
    found = list_waiting(container.graph, ontology=ontology or None, offset=offset, limit=PAGE_SIZE)
    waiting = count_waiting(container.graph)
    return render(
        "review/page.html",
        {"found": found, "ontology": ontology, "ontologies": sorted(waiting), "waiting": waiting},
    )


@router.get(REVIEW + "/approve")
def approval_page(container: Open, ontology: Annotated[str, Query(max_length=1000)] = "") -> Response:
    """Show what of an ontology would be stored, before it is."""
    return _before(container, "approve", ontology)


@router.get(REVIEW + "/reject")
def rejection_page(container: Open, ontology: Annotated[str, Query(max_length=1000)] = "") -> Response:
    """Show what of an ontology would wait no more, before it is so."""
    return _before(container, "reject", ontology)


def _before(container: Container, decision: str, ontology: str) -> Response:
    if not ontology:  # as where a form's address is opened
        return RedirectResponse(REVIEW, 303)
    found = list_waiting(container.graph, ontology=ontology, offset=0, limit=PAGE_SIZE)
    shown = {"decision": decision, "ontology": ontology, "found": found}
    return render("review/all.html", {**shown, "portion": APPROVED_A_REQUEST, "most": MAX_REVIEWED})


@router.post(REVIEW + "/approve")
def approve(
    request: Request,
    container: Open,
    ontology: Name = "",
    documents: Names = [],  # noqa: B006 - FastAPI copies it
    *,
    every: Tick = False,
    after: Name = "",
    only: Name = "",
) -> Response:
    """Store documents that wait; what could not be, and how to go on with many, is a page of its own."""
    asked: dict[str, Any] = {"ontology": ontology, "documents": documents or None, "all": every}
    approved = approve_documents(container, valid(Approval, {**asked, "after": after or None}))
    if not approved.unknown and not approved.next and all(each.ingested for each in approved.outcomes):
        return _to_list(request, approved, only)
    note_outcome(request, approved)
    return render("review/outcome.html", {"approved": approved, "ontology": ontology, "only": only})


@router.post(REVIEW + "/reject")
def reject(
    request: Request,
    container: Open,
    ontology: Name = "",
    documents: Names = [],  # noqa: B006 - FastAPI copies it
    *,
    every: Tick = False,
    only: Name = "",
) -> Response:
    """Let documents wait no more; what was decided meanwhile is decided."""
    asked = {"ontology": ontology, "documents": documents or None, "all": every}
    return _to_list(request, reject_documents(container, valid(Review, asked)), only)


def _to_list(request: Request, decided: Approved | Rejected, only: str) -> Response:
    note_outcome(request, decided)
    return RedirectResponse(address(REVIEW, ontology=only), 303)
