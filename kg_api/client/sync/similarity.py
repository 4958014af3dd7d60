# Written by scripts/unasync.py from ../asynchronous/similarity.py; change that, not this.
"""What is like a source, and the graph of it."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.call import body_of, post
from kg_api.client.sync.sending import Sending
from kg_api.models.queries.similarity import (
    GraphRequest,
    SimilarDocuments,
    SimilarDocumentSearch,
    SimilarSearch,
    SimilarSources,
    SourceGraph,
)


class SimilarityMethods(Sending):
    """Passages and documents that are alike."""

    def similar_sources(
        self,
        source_id: str,
        *,
        ontology: str | Sequence[str] | None = None,
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
        min_similarity: float | None = None,
        limit: int = 10,
        pairs: int = 3,
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
        neighbours: int = 5,
        max_nodes: int = 1000,
        across_documents_only: bool = True,
    ) -> SourceGraph:
        """Connect sources with those most similar to them; the options are those of GraphRequest."""
        body = body_of(GraphRequest, locals())
        return self._send(post(SourceGraph, "queries", "sources", "graph", json=body))
