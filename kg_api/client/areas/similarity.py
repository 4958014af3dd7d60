"""What is like a source, and the graph of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, drop_unset, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.queries.similarity import (
    GraphRequest,
    SimilarDocuments,
    SimilarDocumentSearch,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)


def similar_sources(source_id: str, **options: Any) -> Call[SimilarSources]:
    """Find what is like a source; `options` are the fields of SimilarSearch, None for unset."""
    body = valid(SimilarSearch, drop_unset(options)).model_dump(exclude_unset=True)
    return Call("POST", path_of("queries", "sources", source_id, "similar"), SimilarSources, json=body)


def similar_documents(document_id: str, **options: Any) -> Call[SimilarDocuments]:
    """Find what is like a document; `options` are the fields of SimilarDocumentSearch, None for unset."""
    body = valid(SimilarDocumentSearch, drop_unset(options)).model_dump(exclude_unset=True)
    return Call("POST", path_of("queries", "documents", document_id, "similar"), SimilarDocuments, json=body)


def source_graph(**options: Any) -> Call[SourceGraph]:
    """Connect similar sources; `options` are the fields of GraphRequest, None for unset."""
    body = valid(GraphRequest, drop_unset(options)).model_dump(exclude_unset=True)
    return Call("POST", "/queries/sources/graph", SourceGraph, json=body)


def _names(ontology: str | Sequence[str] | None) -> str | list[str] | None:
    return ontology if ontology is None or isinstance(ontology, str) else list(ontology)


class SimilarityMethods(Sending):
    """Methods of the synchronous client."""

    def similar_sources(
        self,
        source_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SimilarSources:
        """Find passages of other documents that are like a source; `options`: the fields of SimilarSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return self._send(similar_sources(source_id, **asked))

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
        limit: int = 10,
        **options: Any,
    ) -> SimilarDocuments:
        """Find documents that are like a document; `options`: the fields of SimilarDocumentSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return self._send(similar_documents(document_id, **asked))

    def source_graph(
        self,
        source_ids: Sequence[str] | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        **options: Any,
    ) -> SourceGraph:
        """Connect sources with those most similar to them; `options`: the further fields of GraphRequest."""
        ids = None if source_ids is None else list(source_ids)
        return self._send(source_graph(**options, source_ids=ids, ontology=_names(ontology)))


class AsyncSimilarityMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def similar_sources(
        self,
        source_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SimilarSources:
        """Find passages of other documents that are like a source; `options`: the fields of SimilarSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return await self._send(similar_sources(source_id, **asked))

    async def cross_document_similarity(
        self, source_id: str, *, limit: int = 10, min_similarity: float | None = None
    ) -> SimilarSources:
        """Find passages that are like a source, in other documents of all ontologies."""
        return await self.similar_sources(source_id, limit=limit, min_similarity=min_similarity)

    async def similar_documents(
        self,
        document_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SimilarDocuments:
        """Find documents that are like a document; `options`: the fields of SimilarDocumentSearch."""
        asked = {**options, "limit": limit, "ontology": _names(ontology)}
        return await self._send(similar_documents(document_id, **asked))

    async def source_graph(
        self,
        source_ids: Sequence[str] | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        **options: Any,
    ) -> SourceGraph:
        """Connect sources with those most similar to them; `options`: the further fields of GraphRequest."""
        ids = None if source_ids is None else list(source_ids)
        return await self._send(source_graph(**options, source_ids=ids, ontology=_names(ontology)))
