"""What is like a source, and the graph of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.models.queries.similarity import (
    GraphRequest,
    SimilarDocuments,
    SimilarDocumentSearch,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)
from kg_api.web.dependencies import CalledDocument, Open, SourceId
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

SIMILAR: dict[str, Example] = {
    "in all ontologies": {"value": {"limit": 5}},
    "near-duplicates one by one": {"value": {"ontology": "handbook", "group_duplicates": False}},
}
DOCUMENTS: dict[str, Example] = {"in all ontologies": {"value": {"limit": 5, "pairs": 2}}}
GRAPHS: dict[str, Example] = {
    "of an ontology": {"value": {"ontology": "handbook", "neighbours": 3, "min_similarity": 0.7}},
    "of two documents": {"value": {"documents": ["a.md", "b.md"], "across_documents_only": False}},
}


@router.post("/queries/sources/graph", summary="Get the similarity graph of sources")
def source_graph(
    container: Open, request: Annotated[GraphRequest, Body(openapi_examples=GRAPHS)]
) -> SourceGraph:
    """Connect sources with those that are most similar to them; every pair is compared."""
    return container.similarity.graph(request)


@router.post("/queries/sources/{source_id}/similar", summary="Find similar sources in other documents")
def similar_sources(
    container: Open, source_id: SourceId, request: Annotated[SimilarSearch, Body(openapi_examples=SIMILAR)]
) -> SimilarSources:
    """Give passages of other documents that are like a source; near-duplicates stand together."""
    return container.similarity.similar(source_id, request)


@router.post(
    "/queries/documents/{document_id:path}/similar",
    summary="Find similar documents and their matching passages",
)
def similar_documents(
    container: Open,
    document_id: CalledDocument,
    request: Annotated[SimilarDocumentSearch, Body(openapi_examples=DOCUMENTS)],
) -> SimilarDocuments:
    """Compare the sources of a document, 200 at most, with those of all others; pairs show where."""
    return container.similarity.documents(document_id, request)
