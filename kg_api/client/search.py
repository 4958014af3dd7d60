"""Client methods to search sources, find similar sources, and read documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kg_api.client.call import Call, build_body, get, post
from kg_api.client.sending import request
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.search import DocumentReading, Place, SourceHits, SourceSearch, SourceWindow
from kg_api.schemas.similarity import (
    GraphRequest,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)
from kg_api.schemas.vocabulary import USUAL_READ, Fusion, GroupBy, HybridMode, SearchMode, SourceKind


def get_page(search: SourceSearch) -> Call[SourceHits]:
    """Describe the request to get a page from a search."""
    body = search.model_dump(mode="json", exclude_unset=True)
    return post(SourceHits, "queries", "sources", "search", json=body)


class SearchMethods:
    @request
    def search_sources(
        self,
        query_text: str | None = None,
        *,
        query_vector: Sequence[float] | None = None,
        space: str | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        kinds: Sequence[SourceKind] | None = None,
        mode: SearchMode = "hybrid",
        prefix: bool = False,
        limit: int = 10,
        cursor: str | None = None,
        min_similarity: float | None = None,
        fusion: Fusion = "adaptive",
        rrf_k: int = 60,
        vector_weight: float = 0.7,
        mmr_lambda: float | None = None,
        per_document: int | None = None,
        collapse_duplicates: bool = False,
        group_by: GroupBy = "source",
        rerank: bool = False,
        first_stage_limit: int = 50,
        exact: bool = False,
        hyde: int | Literal["auto"] = 0,
        explain: bool = False,
        concepts: bool = False,
        graph: bool = False,
        include_concepts: bool = False,
        expand_context: bool = False,
        window_size: int = 2,
        token_budget: int | None = None,
    ) -> Call[SourceHits]:
        """Find sources by vectors, full text, or both. You can use the fields in SourceSearch as options."""
        body = build_body(SourceSearch, locals())
        return post(SourceHits, "queries", "sources", "search", json=body)

    @request
    def hybrid_search(
        self,
        query_text: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        kinds: Sequence[SourceKind] | None = None,
        mode: HybridMode = "hybrid",
        concept_limit: int = 5,
        source_limit: int = 10,
        cursor: str | None = None,
        min_similarity: float | None = None,
        rerank: bool = False,
        collapse_duplicates: bool = False,
        explain: bool = False,
        expand_context: bool = False,
        window_size: int = 2,
        token_budget: int | None = None,
    ) -> Call[HybridHits]:
        """Find sources, also using concepts. You can use the fields in HybridSearch as options."""
        return post(HybridHits, "queries", "hybrid", json=build_body(HybridSearch, locals()))

    @request
    def source(self, source_id: str) -> Call[Place]:
        return get(Place, "sources", source_id)

    @request
    def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> Call[SourceWindow]:
        """Get a source with neighbours, up to a token budget if you set one."""
        params = {"window_size": window_size, "token_budget": token_budget}
        return get(SourceWindow, "sources", source_id, "context", **params)

    @request
    def read_document(
        self,
        document_id: str,
        *,
        ontology: str | None = None,
        start: int | None = None,
        token_budget: int = USUAL_READ,
    ) -> Call[DocumentReading]:
        """Read a document from a paragraph, up to the token budget. To read on, pass `next` as `start`."""
        params = {"ontology": ontology, "start": start, "token_budget": token_budget}
        return get(DocumentReading, "reading", document_id, **params)

    @request
    def similar_sources(
        self,
        source_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
        same_document: bool = False,
        group_duplicates: bool = True,
        exact: bool = False,
    ) -> Call[SimilarSources]:
        """Find passages that are similar to a source. You can use the fields in SimilarSearch as options."""
        body = build_body(SimilarSearch, locals())
        return post(SimilarSources, "queries", "sources", source_id, "similar", json=body)

    @request
    def cross_document_similarity(
        self, source_id: str, *, limit: int = 10, min_similarity: float | None = None
    ) -> Call[SimilarSources]:
        """Find passages in other documents that are similar to a source, from all ontologies."""
        body = build_body(SimilarSearch, {"limit": limit, "min_similarity": min_similarity})
        return post(SimilarSources, "queries", "sources", source_id, "similar", json=body)

    @request
    def source_graph(
        self,
        source_ids: Sequence[str] | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        min_similarity: float | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        neighbours: int = 5,
        max_nodes: int = 1000,
        across_documents_only: bool = True,
    ) -> Call[SourceGraph]:
        """Get a graph to show similar sources. You can use the fields in GraphRequest as options."""
        body = build_body(GraphRequest, locals())
        return post(SourceGraph, "queries", "sources", "graph", json=body)
