"""llama-index: a VectorStoreIndex over Neo4jVectorStore with hybrid_search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from benchmarks.peers.contestants import BATCH, Search
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Corpus, Passage, Place

EMBED_BATCH = 250
"""Its default of 10 leaves threads without work at the end of each."""


class LlamaIndex:
    """It makes its indexes, but no constraint, without which each node that it merges reads all others."""

    packages = (
        "llama-index-vector-stores-neo4jvector",
        "llama-index-core",
        "neo4j",
        "neo4j-rust-ext",
        "onnxruntime",
        "tokenizers",
    )

    def __init__(self, place: Place, embedder: SameEmbedder) -> None:
        self._place = place
        self._schema: Any = import_module("llama_index.core.schema")
        self._model = _embedder_class(embedder)(embed_batch_size=EMBED_BATCH)
        self._dimensions = embedder.dimensions
        self._index: Any = None
        self._retrievers: dict[int, Any] = {}

    def prepare(self, corpus: Corpus) -> None:
        """See `Contestant`."""
        number, label = corpus.number, f"Passage{corpus.number}"
        store = import_module("llama_index.vector_stores.neo4jvector").Neo4jVectorStore(
            "neo4j",
            self._place.password,
            self._place.bolt,
            self._dimensions,
            index_name=f"vectors{number}",
            keyword_index_name=f"words{number}",
            node_label=label,
            hybrid_search=True,
        )
        store.database_query(f"CREATE CONSTRAINT IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE")
        store.database_query("CALL db.awaitIndexes(300)")
        kind: Any = import_module("llama_index.core").VectorStoreIndex
        self._index = kind.from_vector_store(store, embed_model=self._model, insert_batch_size=BATCH)
        self._retrievers = {}

    def take_in(self, passages: Sequence[Passage]) -> None:
        """See `Contestant`."""
        self._index.insert_nodes([self._schema.TextNode(text=each.text, id_=each.id) for each in passages])

    def settle(self) -> None:
        """See `Contestant`: nothing goes on."""

    def search(self, question: str, limit: int) -> list[str]:
        """See `Contestant`."""
        return self._ids(self._schema.QueryBundle(question), limit)

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """See `Contestant`."""
        return self._ids(self._schema.QueryBundle(question, embedding=vector), limit)

    @property
    def rankings(self) -> Mapping[str, Search]:
        """See `Contestant`."""
        return {"hybrid": self.search}

    def _ids(self, asked: Any, limit: int) -> list[str]:
        if limit not in self._retrievers:
            self._retrievers[limit] = self._index.as_retriever(similarity_top_k=limit)
        return [each.node.node_id for each in self._retrievers[limit].retrieve(asked)]


def _embedder_class(same: SameEmbedder) -> Any:
    base: Any = import_module("llama_index.core.base.embeddings.base").BaseEmbedding

    class Own(base):
        def _get_query_embedding(self, query: str) -> list[float]:
            return same.question(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return same.question(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return same.passages([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return same.passages(texts)

    return Own
