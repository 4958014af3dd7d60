"""neo4j-graphrag, Neo4j's own library: its index functions, `upsert_vectors` and HybridRetriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.peers.contestants import BATCH, Search
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Corpus, Passage, Place

ALPHAS = (0.3, 0.7)
"""Of its linear ranker. With 0.5, what is first by meaning and by words has the same score from both, and its
UNION leaves one out: the best comes out below the rest (nDCG@10 of 35 on xquad)."""
LUCENE = str.maketrans(dict.fromkeys('+-&|!(){}[]^"~*?:\\/', " "))
"""It hands questions to Lucene as they are; a question mark would make some of them an error."""


class Graphrag:
    """HybridRetriever with `return_properties`: what HybridCypherRetriever would add is another RETURN."""

    packages = ("neo4j-graphrag", "neo4j", "neo4j-rust-ext", "onnxruntime", "tokenizers")

    def __init__(self, place: Place, embedder: SameEmbedder) -> None:
        neo4j: Any = import_module("neo4j")
        self._driver = neo4j.GraphDatabase.driver(place.bolt, auth=("neo4j", place.password))
        self._embedder = embedder
        self._own = _embedder_class()(embedder)
        self._indexes: Any = import_module("neo4j_graphrag.indexes")
        self._label = ""
        self._retriever: Any = None

    def prepare(self, corpus: Corpus) -> None:
        """See `Contestant`."""
        self._label = f"Passage{corpus.number}"
        names = f"vectors{corpus.number}", f"words{corpus.number}"
        self._indexes.create_vector_index(
            self._driver,
            names[0],
            label=self._label,
            embedding_property="embedding",
            dimensions=self._embedder.dimensions,
            similarity_fn="cosine",
        )
        self._indexes.create_fulltext_index(
            self._driver, names[1], label=self._label, node_properties=["text"]
        )
        self._driver.execute_query("CALL db.awaitIndexes(300)")
        kind: Any = import_module("neo4j_graphrag.retrievers").HybridRetriever
        shown = {"return_properties": ["id", "text"], "result_formatter": _item}
        self._retriever = kind(self._driver, *names, self._own, **shown)

    def take_in(self, passages: Sequence[Passage]) -> None:
        """See `Contestant`: nodes, then vectors, as its guide says; embedded by batches, not one by one."""
        create = f"UNWIND $rows AS row CREATE (n:{self._label}) SET n = row RETURN elementId(n) AS id"
        for at in range(0, len(passages), BATCH):
            batch = passages[at : at + BATCH]
            vectors = self._embedder.passages([each.text for each in batch])
            rows = [{"id": each.id, "text": each.text} for each in batch]
            records, _, _ = self._driver.execute_query(create, rows=rows)
            ids = [record["id"] for record in records]
            self._indexes.upsert_vectors(self._driver, ids, "embedding", vectors)

    def settle(self) -> None:
        """See `Contestant`: nothing goes on."""

    def search(self, question: str, limit: int) -> list[str]:
        """See `Contestant`."""
        return self._search(question, limit)

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """See `Contestant`."""
        return self._search(question, limit, query_vector=vector)

    @property
    def rankings(self) -> Mapping[str, Search]:
        """See `Contestant`."""
        linear = {f"linear {alpha}": partial(self._search, ranker="linear", alpha=alpha) for alpha in ALPHAS}
        return {"naive": self.search, **linear}

    def _search(self, question: str, limit: int, **more: Any) -> list[str]:
        words = question.translate(LUCENE).strip()
        found = self._retriever.search(query_text=words, top_k=limit, **more)
        return [item.metadata["id"] for item in found.items]


def _embedder_class() -> Any:
    base: Any = import_module("neo4j_graphrag.embeddings.base").Embedder

    class Own(base):
        def __init__(self, same: SameEmbedder) -> None:
            super().__init__()
            self.same = same

        def embed_query(self, text: str) -> list[float]:
            return self.same.question(text)

    return Own


def _item(record: Any) -> Any:
    kind: Any = import_module("neo4j_graphrag.types").RetrieverResultItem
    node = record["node"]
    return kind(content=node["text"], metadata={"id": node["id"], "score": record["score"]})
