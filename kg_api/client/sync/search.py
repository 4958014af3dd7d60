# Written by scripts/unasync.py from ../asynchronous/search.py; change that, not this.
"""Finding sources, and reading around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kg_api.client.call import body_of, get, post
from kg_api.client.sync.sending import Sending
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.search import Place, SourceHits, SourceSearch
from kg_api.models.queries.windows import SourceWindow
from kg_api.models.vocabulary import Fusion, GroupBy, HybridMode, SearchMode


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
        mode: SearchMode = "hybrid",
        limit: int = 10,
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
        include_concepts: bool = False,
        expand_context: bool = False,
        window_size: int = 2,
        token_budget: int | None = None,
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; the options are those of SourceSearch."""
        body = body_of(SourceSearch, locals())
        return self._send(post(SourceHits, "queries", "sources", "search", json=body))

    def hybrid_search(
        self,
        query_text: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        mode: HybridMode = "hybrid",
        concept_limit: int = 5,
        source_limit: int = 10,
        min_similarity: float | None = None,
        rerank: bool = False,
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
