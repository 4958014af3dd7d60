"""The documents page: what there is, added and deleted."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.graph.documents import library
from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.graph.review.waiting import count_waiting
from kg_api.models.queries.filters import DocumentFilter
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import CalledDocument, Offset, Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.library.documents import delete_document
from kg_api.web.routes.library.ingest import ingest_document
from kg_api.web.ui.links import DOCUMENTS, address
from kg_api.web.ui.rendering import render, wants_part

PAGE_SIZE: Final = 50
BY_SCRIPT: Final = "application/json"

Done = Annotated[str, Query(max_length=40)]
"""What was done by the form that led here; a word of `DONE`."""

router = APIRouter(include_in_schema=False)


@router.get(DOCUMENTS)
def documents_page(
    request: Request,
    container: Open,
    ontology: Annotated[str, Query(max_length=1000)] = "",
    where: Annotated[str, Query(max_length=2000)] = "",
    offset: Offset = 0,
    *,
    done: Done = "",
) -> HTMLResponse:
    """Show the documents of an ontology, or of all; to htmx the list alone."""
    conditions = valid(DocumentFilter, {"where": [where] if where.strip() else []}).where
    found = library.list_documents(
        container.graph, ontology=ontology or None, where=conditions, offset=offset, limit=PAGE_SIZE
    )
    shown = {"ontology": ontology, "where": where, "found": found, "done": done}
    if wants_part(request):
        return render("documents/list.html", shown)
    return render("documents/page.html", {**shown, **_ontologies(container)})


def _ontologies(container: Container) -> dict[str, object]:
    graph = container.graph
    return {"ontologies": names_of_ontologies(graph), "waiting": count_waiting(graph)}


@router.post(DOCUMENTS)
async def add_document(request: Request, container: Open) -> Response:
    """Take a file in; a script is told what became of it, a form is led to the list."""
    ingested = await ingest_document(container, request, Response())
    if BY_SCRIPT in request.headers.get("accept", ""):
        return JSONResponse(ingested.model_dump(mode="json"))
    note_outcome(request, ingested)
    return RedirectResponse(address(DOCUMENTS, ontology=ingested.ontology), 303)


@router.get(DOCUMENTS + "/{document_id}/delete")
def deletion_page(container: Open, document_id: CalledDocument) -> HTMLResponse:
    """Show what would go with a document, before it goes."""
    return render("documents/delete.html", {"document": library.find_summary(container.graph, document_id)})


@router.post(DOCUMENTS + "/{document_id}/delete")
def delete(request: Request, container: Open, document_id: CalledDocument) -> Response:
    """Delete a document, and lead to those that are left of its ontology."""
    document = library.find_summary(container.graph, document_id)
    note_outcome(request, delete_document(container, document.document_id))
    return RedirectResponse(address(DOCUMENTS, ontology=document.ontology, done="document"), 303)
