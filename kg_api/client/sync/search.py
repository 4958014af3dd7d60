# Written by scripts/unasync.py from ../asynchronous/search.py; change that, not this.
"""Finding sources, what is like them, and reading around them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Literal

from kg_api.client.sync.sending import Sending
from kg_api.client.transport.call import body_of, get, post
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.search import DocumentReading, Place, SourceHit, SourceHits, SourceSearch, SourceWindow
from kg_api.schemas.similarity import (
    GraphRequest,
    SimilarDocuments,
    SimilarDocumentSearch,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)
from kg_api.schemas.vocabulary import USUAL_READ, Fusion, GroupBy, HybridMode, SearchMode, SourceKind


class SearchMethods(Sending):
    """Searches."""

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
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; the options are those of SourceSearch."""
        body = body_of(SourceSearch, locals())
        return self._send(post(SourceHits, "queries", "sources", "search", json=body))

    def source_pages(self, search: SourceSearch | str) -> Generator[SourceHits]:
        """Give the answers to a search page by page, until there are no more; `limit` is the hits of one.

        Options go into a `SourceSearch`, which `kg_api.client` has too.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        asked = SourceSearch(query_text=search) if isinstance(search, str) else search
        while True:
            body = asked.model_dump(mode="json", exclude_unset=True)
            page = self._send(post(SourceHits, "queries", "sources", "search", json=body))
            yield page
            if page.next_cursor is None:
                return
            asked = asked.model_copy(update={"cursor": page.next_cursor})

    def iter_sources(self, search: SourceSearch | str, *, most: int | None = None) -> Generator[SourceHit]:
        """Give the hits of a search one by one, all or so many; `source_pages` says what could not be done.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        given = 0
        for page in self.source_pages(search):
            for hit in page.sources:
                yield hit
                given += 1
                if given == most:
                    return

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
    ) -> HybridHits:
        """Find concepts, and sources also through concepts; the options are those of HybridSearch."""
        return self._send(post(HybridHits, "queries", "hybrid", json=body_of(HybridSearch, locals())))

    def source(self, source_id: str) -> Place:
        """Read a source."""
        return self._send(get(Place, "sources", source_id))

    def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> SourceWindow:
        """Read a source among its neighbours, as many of them as a budget of tokens allows."""
        params = {"window_size": window_size, "token_budget": token_budget}
        return self._send(get(SourceWindow, "sources", source_id, "context", **params))

    def read_document(
        self,
        document_id: str,
        *,
        ontology: str | None = None,
        start: int | None = None,
        token_budget: int = USUAL_READ,
    ) -> DocumentReading:
        """Read a document from a paragraph on, as much as the budget allows; go on with `next` as `start`."""
        params = {"ontology": ontology, "start": start, "token_budget": token_budget}
        return self._send(get(DocumentReading, "reading", document_id, **params))

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
    ) -> SimilarSources:
        """Find passages of other documents that are like a source; the options are those of SimilarSearch."""
        body = body_of(SimilarSearch, locals())
        return self._send(post(SimilarSources, "queries", "sources", source_id, "similar", json=body))

    def cross_document_similarity(
        self, source_id: str, *, limit: int = 10, min_similarity: float | None = None
    ) -> SimilarSources:
        """Find passages that are like a source, in other documents of all ontologies."""
        return self.similar_sources(source_id, limit=limit, min_similarity=min_similarity)

    def similar_documents(
        self,
        document_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
        pairs: int = 3,
        repeated: bool = False,
    ) -> SimilarDocuments:
        """Find documents that are like a document; the options are those of SimilarDocumentSearch."""
        body = body_of(SimilarDocumentSearch, locals())
        call = post(SimilarDocuments, "queries", "documents", document_id, "similar", json=body)
        return self._send(call)

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
        repeated: bool = False,
    ) -> SourceGraph:
        """Connect sources with those most similar to them; the options are those of GraphRequest."""
        body = body_of(GraphRequest, locals())
        return self._send(post(SourceGraph, "queries", "sources", "graph", json=body))
