"""Ontologies and documents: listed, read, deleted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.graph.documents import deleting, library
from kg_api.graph.documents.deleting import delete_matching
from kg_api.graph.filters.facets import count_facets
from kg_api.graph.review.waiting import count_waiting
from kg_api.models.library.deletion import DeletedMatching, DocumentDeletion
from kg_api.models.library.documents import (
    Deleted,
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    OntologyList,
)
from kg_api.models.queries.facets import FacetRequest, Facets
from kg_api.models.queries.filters import DocumentFilter
from kg_api.spaces.plans import read_embedding_states
from kg_api.web.dependencies import (
    CalledDocument,
    Offset,
    Ontology,
    OntologyFilter,
    Open,
    PageSize,
    WhereFilter,
)
from kg_api.web.limits.strict_json import StrictRoute, valid

router = APIRouter(tags=["library"], route_class=StrictRoute)

CHANGE: dict[str, Example] = {
    "a date and tags": {"value": {"metadata": {"date": "2025-01-31", "tags": ["oncall"], "draft": None}}}
}
DELETION: dict[str, Example] = {
    "what would go": {"value": {"ontology": "notes", "where": ["date<2020"]}},
    "delete these": {
        "value": {"ontology": "notes", "where": ["date<2020"], "dry_run": False, "expected": 12}
    },
}
FACETS: dict[str, Example] = {
    "authors and years": {"value": {"fields": ["author", "date:year"], "where": ["tags=oncall"]}},
}


@router.post("/queries/facets", summary="Count the values of documents' fields")
def count_values(container: Open, request: Annotated[FacetRequest, Body(openapi_examples=FACETS)]) -> Facets:
    """Count the values of metadata keys, formats, ontologies, or dates by year, month or day."""
    return count_facets(container.graph, narrowed(container.graph, request))


@router.get("/ontologies", summary="List ontologies")
def list_ontologies(container: Open) -> OntologyList:
    """Give every ontology with its counts of documents, sources and embedded sources."""
    counted = [embedding_state.counted for embedding_state in read_embedding_states(container.graph).values()]
    found = library.list_ontologies(container.graph, counted)
    return OntologyList(ontologies=found, waiting=count_waiting(container.graph))


@router.delete("/ontologies/{ontology}", summary="Delete an ontology")
def delete_ontology(container: Open, ontology: Ontology) -> Deleted:
    """Delete an ontology with all its documents. One that is not there is no error: zeros and a note."""
    deleted = deleting.delete_ontology(container.graph, ontology)
    container.images.collect_after_delete()
    return deleted


@router.get("/documents", summary="List documents")
def list_documents(
    container: Open,
    ontology: OntologyFilter = None,
    where: WhereFilter = None,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> DocumentPage:
    """Give documents ordered by ontology and name, without their text."""
    conditions = valid(DocumentFilter, {"where": where or []}).where
    return library.list_documents(
        container.graph, ontology=ontology, where=conditions, offset=offset, limit=limit
    )


@router.get("/documents/{document_id:path}", summary="Get a document with its text")
def get_document(
    container: Open, document_id: CalledDocument, ontology: OntologyFilter = None
) -> DocumentContent:
    """Give a document; its text is what was ingested, character for character.

    404: the message names those nearest. 409: several documents have that name.
    """
    return library.find_document(container.graph, document_id, ontology)


@router.patch("/documents/{document_id:path}", summary="Change a document's title, address or metadata")
def change_document(
    container: Open,
    document_id: CalledDocument,
    change: Annotated[DocumentChange, Body(openapi_examples=CHANGE)],
    ontology: OntologyFilter = None,
) -> DocumentChanged:
    """Change what is said of a document. What is set here stays when its text is ingested again.

    It is embedded anew only where the context of its ontology's chunks uses what changed; `job_id` says so.
    404: there is no such document; the message names those nearest. 409: several have that name.
    """
    return library.change_called(container.graph, document_id, change, ontology)


@router.post("/documents/delete", summary="Delete documents by filter, or preview it")
def delete_documents(
    container: Open, deletion: Annotated[DocumentDeletion, Body(openapi_examples=DELETION)]
) -> DeletedMatching:
    """Say which documents fit (`dry_run`, as it is by itself), or delete them with their sources.

    With `expected_digest` they are deleted only where exactly those fit that a dry run counted (`digest`),
    with `expected` where so many do. 409: others fit meanwhile, and nothing was deleted. After an
    interruption some are left, which is 409 too: ask for a dry run again. Where none is, zeros and a note.
    """
    deleted = delete_matching(container.graph, narrowed(container.graph, deletion))
    container.images.collect_after_delete()
    return deleted


@router.delete("/documents/{document_id:path}", summary="Delete a document")
def delete_document(container: Open, document_id: CalledDocument, ontology: OntologyFilter = None) -> Deleted:
    """Delete a document with its sources. A whole id that is not there is no error: zeros and a note.

    404: there is no document of that name; the message names those nearest. 409: several have that name.
    """
    deleted = deleting.delete_called(container.graph, document_id, ontology)
    container.images.collect_after_delete()
    return deleted
