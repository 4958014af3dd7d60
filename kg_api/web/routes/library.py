"""Ontologies and documents: listed, read, deleted."""

from __future__ import annotations

from fastapi import APIRouter

from kg_api.graph import library
from kg_api.models.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    OntologyList,
)
from kg_api.spaces.plans import read_standings
from kg_api.web.dependencies import DocumentId, Offset, Ontology, OntologyFilter, Open, PageSize

router = APIRouter(tags=["library"])


@router.get("/ontologies", summary="All ontologies")
def list_ontologies(container: Open) -> OntologyList:
    """Give every ontology with its counts of documents, sources and embedded sources."""
    counted = [standing.counted for standing in read_standings(container.graph).values()]
    return OntologyList(ontologies=library.list_ontologies(container.graph, counted))


@router.delete("/ontologies/{ontology}", summary="Delete an ontology")
def delete_ontology(container: Open, ontology: Ontology) -> Deleted:
    """Delete an ontology with all its documents. Deleting what is not there is no error."""
    return library.delete_ontology(container.graph, ontology)


@router.get("/documents", summary="One page of documents")
def list_documents(
    container: Open, ontology: OntologyFilter = None, offset: Offset = 0, limit: PageSize = 100
) -> DocumentPage:
    """Give documents ordered by ontology and name, without their text."""
    documents, total = library.page_of_documents(
        container.graph, ontology=ontology, offset=offset, limit=limit
    )
    return DocumentPage(documents=documents, total=total, offset=offset, limit=limit)


@router.get("/documents/{document_id}", summary="One document with its text")
def get_document(container: Open, document_id: DocumentId) -> DocumentContent:
    """Give a document; its text is what was ingested, character for character."""
    return library.find_document(container.graph, document_id)


@router.delete("/documents/{document_id}", summary="Delete a document")
def delete_document(container: Open, document_id: DocumentId) -> Deleted:
    """Delete a document with its sources. Deleting what is not there is no error."""
    return library.delete_document(container.graph, document_id)
