"""langchain-neo4j: Neo4jVector with search_type hybrid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from benchmarks.peers.contestants import BATCH, Search
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Corpus, Passage, Place


class Langchain:
    """`from_texts` makes its indexes and a constraint; `add_texts` adds the rest."""

    packages = ("langchain-neo4j", "langchain-core", "neo4j", "neo4j-rust-ext", "onnxruntime", "tokenizers")

    def __init__(self, place: Place, embedder: SameEmbedder) -> None:
        self._module: Any = import_module("langchain_neo4j")
        hybrid: Any = import_module("neo4j_graphrag.types").SearchType.HYBRID
        self._options = {
            "url": place.bolt,
            "username": "neo4j",
            "password": place.password,
            "search_type": hybrid,
            "embedding": _embedder_class()(embedder),
        }
        self._names: dict[str, str] = {}
        self._store: Any = None

    def prepare(self, corpus: Corpus) -> None:
        """See `Contestant`."""
        number = corpus.number
        self._names = {
            "node_label": f"Passage{number}",
            "index_name": f"vectors{number}",
            "keyword_index_name": f"words{number}",
        }

    def take_in(self, passages: Sequence[Passage]) -> None:
        """See `Contestant`."""
        for at in range(0, len(passages), BATCH):
            batch = passages[at : at + BATCH]
            texts, ids = [each.text for each in batch], [each.id for each in batch]
            if at:
                self._store.add_texts(texts, ids=ids)
            else:
                self._store = self._module.Neo4jVector.from_texts(
                    texts, ids=ids, **self._options, **self._names
                )
        self._store.query("CALL db.awaitIndexes(300)")

    def settle(self) -> None:
        """See `Contestant`: nothing goes on."""

    def search(self, question: str, limit: int) -> list[str]:
        """See `Contestant`."""
        return _ids(self._store.similarity_search(question, k=limit))

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """See `Contestant`."""
        return _ids(self._store.similarity_search_by_vector(vector, k=limit, query=question))

    @property
    def rankings(self) -> Mapping[str, Search]:
        """See `Contestant`."""
        return {"hybrid": self.search}


def _embedder_class() -> Any:
    base: Any = import_module("langchain_core.embeddings").Embeddings

    class Own(base):
        def __init__(self, same: SameEmbedder) -> None:
            self.same = same

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.same.passages(texts)

        def embed_query(self, text: str) -> list[float]:
            return self.same.question(text)

    return Own


def _ids(documents: Sequence[Any]) -> list[str]:
    return [each.metadata["id"] for each in documents]
