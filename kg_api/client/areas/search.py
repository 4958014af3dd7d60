"""Finding sources, and reading around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, drop_unset, params_of, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.search import Place, SourceHits, SourceSearch
from kg_api.models.queries.windows import SourceWindow


def search_sources(query_text: str | None, **options: Any) -> Call[SourceHits]:
    """Find sources; `options` are the fields of SourceSearch, None for unset."""
    search = valid(SourceSearch, drop_unset({"query_text": query_text, **options}))
    return Call("POST", "/queries/sources/search", SourceHits, json=search.model_dump(exclude_unset=True))


def hybrid_search(query_text: str, **options: Any) -> Call[HybridHits]:
    """Find concepts and sources; `options` are the fields of HybridSearch, None for unset."""
    search = valid(HybridSearch, drop_unset({"query_text": query_text, **options}))
    return Call("POST", "/queries/hybrid", HybridHits, json=search.model_dump(exclude_unset=True))


def source(source_id: str) -> Call[Place]:
    """Read a source."""
    return Call("GET", path_of("sources", source_id), Place)


def source_context(source_id: str, window_size: int, token_budget: int | None = None) -> Call[SourceWindow]:
    """Read around a source."""
    params = params_of(window_size=window_size, token_budget=token_budget)
    return Call("GET", path_of("sources", source_id, "context"), SourceWindow, params=params)


def _names(ontology: str | Sequence[str] | None) -> str | list[str] | None:
    """An ontology or several, as the request takes them."""
    return ontology if ontology is None or isinstance(ontology, str) else list(ontology)


class SearchMethods(Sending):
    """Methods of the synchronous client."""

    def search_sources(
        self,
        query_text: str | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; `options` are the further fields of SourceSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return self._send(search_sources(query_text, **asked))

    def hybrid_search(
        self,
        query_text: str,
        *,
        ontology: str | Sequence[str] | None = None,
        concept_limit: int = 5,
        source_limit: int = 10,
        **options: Any,
    ) -> HybridHits:
        """Find concepts, and sources also through concepts; `options` are further fields of HybridSearch."""
        limits = {"concept_limit": concept_limit, "source_limit": source_limit}
        return self._send(hybrid_search(query_text, **options, **limits, ontology=_names(ontology)))

    def source(self, source_id: str) -> Place:
        """Read a source."""
        return self._send(source(source_id))

    def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> SourceWindow:
        """Read a source among its neighbours, as many of them as a budget of tokens allows."""
        return self._send(source_context(source_id, window_size, token_budget))


class AsyncSearchMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def search_sources(
        self,
        query_text: str | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; `options` are the further fields of SourceSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return await self._send(search_sources(query_text, **asked))

    async def hybrid_search(
        self,
        query_text: str,
        *,
        ontology: str | Sequence[str] | None = None,
        concept_limit: int = 5,
        source_limit: int = 10,
        **options: Any,
    ) -> HybridHits:
        """Find concepts, and sources also through concepts; `options` are further fields of HybridSearch."""
        limits = {"concept_limit": concept_limit, "source_limit": source_limit}
        return await self._send(hybrid_search(query_text, **options, **limits, ontology=_names(ontology)))

    async def source(self, source_id: str) -> Place:
        """Read a source."""
        return await self._send(source(source_id))

    async def source_context(
        self, source_id: str, *, window_size: int = 2, token_budget: int | None = None
    ) -> SourceWindow:
        """Read a source among its neighbours, as many of them as a budget of tokens allows."""
        return await self._send(source_context(source_id, window_size, token_budget))
