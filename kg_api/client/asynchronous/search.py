"""Finding sources, and reading around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import Call, body_of, params_of, path_of
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.search import Place, SourceHits, SourceSearch
from kg_api.models.queries.windows import SourceWindow
from kg_api.models.vocabulary import Fusion, GroupBy, HybridMode, SearchMode


class AsyncSearchMethods(AsyncSending):
    """Searches."""

    async def search_sources(
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
        body = body_of(
            SourceSearch,
            query_text=query_text,
            query_vector=query_vector,
            space=space,
            ontology=ontology,
            documents=documents,
            mode=mode,
            limit=limit,
            min_similarity=min_similarity,
            fusion=fusion,
            rrf_k=rrf_k,
            vector_weight=vector_weight,
            mmr_lambda=mmr_lambda,
            per_document=per_document,
            collapse_duplicates=collapse_duplicates,
            group_by=group_by,
            rerank=rerank,
            first_stage_limit=first_stage_limit,
            exact=exact,
            hyde=hyde,
            explain=explain,
            concepts=concepts,
            include_concepts=include_concepts,
            expand_context=expand_context,
            window_size=window_size,
            token_budget=token_budget,
        )
        return await self._send(Call("POST", "/queries/sources/search", SourceHits, json=body))

    async def hybrid_search(
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
        body = body_of(
            HybridSearch,
            query_text=query_text,
            ontology=ontology,
            documents=documents,
            mode=mode,
            concept_limit=concept_limit,
            source_limit=source_limit,
            min_similarity=min_similarity,
            rerank=rerank,
            explain=explain,
            expand_context=expand_context,
            window_size=window_size,
            token_budget=token_budget,
        )
        return await self._send(Call("POST", "/queries/hybrid", HybridHits, json=body))

    async def source(self, source_id: str) -> Place:
        """Read a source."""
        return await self._send(Call("GET", path_of("sources", source_id), Place))

    async def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> SourceWindow:
        """Read a source among its neighbours, as many of them as a budget of tokens allows."""
        params = params_of(window_size=window_size, token_budget=token_budget)
        path = path_of("sources", source_id, "context")
        return await self._send(Call("GET", path, SourceWindow, params=params))
