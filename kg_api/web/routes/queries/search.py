"""Searching, what is like something, and reading around what was found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.graph.documents.library import find_source
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.places import Place
from kg_api.models.queries.reading import DocumentReading
from kg_api.models.queries.search import SourceHits, SourceSearch
from kg_api.models.queries.similarity import (
    GraphRequest,
    SimilarDocuments,
    SimilarDocumentSearch,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)
from kg_api.models.queries.windows import SourceWindow
from kg_api.models.vocabulary import MAX_PARAGRAPH, MAX_TOKEN_BUDGET, MAX_WINDOW, USUAL_READ
from kg_api.web.dependencies import CalledDocument, CalledRead, CalledSource, OntologyFilter, Open, SourceId
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

EXAMPLES: dict[str, Example] = {
    "by meaning and by words": {"value": {"query_text": "how are retries delayed", "limit": 5}},
    "in one ontology, with neighbours": {
        "value": {
            "query_text": "lease and heartbeat",
            "ontology": "handbook",
            "expand_context": True,
            "window_size": 1,
        }
    },
    "by words only": {"value": {"query_text": "C++ #include", "mode": "text"}},
}


@router.post("/queries/sources/search", summary="Search sources by meaning, by words, or both")
def search_sources(
    container: Open, search: Annotated[SourceSearch, Body(openapi_examples=EXAMPLES)]
) -> SourceHits:
    """Give the sources that fit best, with their exact place; `degraded` says what could not be done."""
    return container.search.search(narrowed(container.graph, search))


HYBRID: dict[str, Example] = {
    "concepts and sources": {
        "value": {"query_text": "who wrote the standard for type hints", "source_limit": 5}
    },
    "only through concepts, with neighbours": {
        "value": {"query_text": "type hints", "mode": "concept", "expand_context": True, "window_size": 1}
    },
}


@router.post("/queries/hybrid", summary="Search concepts and sources together")
def hybrid_search(
    container: Open, search: Annotated[HybridSearch, Body(openapi_examples=HYBRID)]
) -> HybridHits:
    """Give the concepts that fit, and sources found by meaning, by words and through concepts."""
    return container.hybrid.search(narrowed(container.graph, search))


@router.get("/sources/{source_id:path}/context", summary="Get a source with its neighbours")
def get_source_context(
    container: Open,
    source_id: CalledSource,
    window_size: Annotated[int, Query(ge=0, le=MAX_WINDOW)] = 2,
    token_budget: Annotated[
        int | None, Query(ge=1, le=MAX_TOKEN_BUDGET, description="Maximum tokens of the neighbours.")
    ] = None,
) -> SourceWindow:
    """Give the paragraphs before and after, in order, of the same document only; `left_out` did not fit."""
    return container.search.context(source_id, window_size, token_budget)


@router.get("/sources/{source_id:path}", summary="Get a source")
def get_source(container: Open, source_id: SourceId) -> Place:
    """Give a source with its place and text."""
    return find_source(container.graph, source_id)


@router.get("/reading/{document_id:path}", summary="Read a document from a place on")
def read_document(
    container: Open,
    document_id: CalledRead,
    ontology: OntologyFilter = None,
    start: Annotated[
        int | None, Query(ge=0, le=MAX_PARAGRAPH, description="Paragraph to begin with, from 0.")
    ] = None,
    token_budget: Annotated[
        int, Query(ge=1, le=MAX_TOKEN_BUDGET, description="Maximum tokens; one paragraph is always given.")
    ] = USUAL_READ,
) -> DocumentReading:
    """Give whole paragraphs in order, 200 at most; `next` is the `start` to go on with.

    404: there is no such document; the message names those nearest. 409: several have that name.
    """
    return container.search.read(document_id, ontology, start, token_budget)


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
    return container.similarity.graph(narrowed(container.graph, request))


@router.post("/queries/sources/{source_id:path}/similar", summary="Find similar sources in other documents")
def similar_sources(
    container: Open, source_id: SourceId, request: Annotated[SimilarSearch, Body(openapi_examples=SIMILAR)]
) -> SimilarSources:
    """Give passages of other documents that are like a source; near-duplicates stand together."""
    return container.similarity.similar(source_id, narrowed(container.graph, request))


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
    return container.similarity.documents(document_id, narrowed(container.graph, request))
