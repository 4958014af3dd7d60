"""Those that are compared: what each has to do, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol

from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Corpus, Passage, Place

Search = Callable[[str, int], list[str]]
"""Gives the ids of at most so many passages for a question, the best first."""

BATCH = 1000
"""Passages that the others embed and write at once."""


class Contestant(Protocol):
    """A way to keep passages in Neo4j and to find them by meaning and by words."""

    packages: Sequence[str]
    """Whose versions are told."""

    def prepare(self, corpus: Corpus) -> None:
        """Make indexes, or files on disk; this corpus is what is searched from now on. Not timed."""
        ...

    def take_in(self, passages: Sequence[Passage]) -> None:
        """Store all and come back when each has its vector and is found."""
        ...

    def settle(self) -> None:
        """Wait until nothing works any more of what taking in has begun."""
        ...

    def search(self, question: str, limit: int) -> list[str]:
        """The hybrid search as it comes, from any thread."""
        ...

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """The same with the question's vector given."""
        ...

    @property
    def rankings(self) -> Mapping[str, Search]:
        """The documented ways to rank a hybrid search, for the quality; `search` is the first."""
        ...


PEERS = {
    "neo4j-graphrag": "graphrag:Graphrag",
    "langchain-neo4j": "langchain:Langchain",
    "llama-index": "llama_index:LlamaIndex",
}
OWN, FLOOR = "kg", "floor"
STORED_BY_KG = frozenset({OWN, FLOOR})
"""Those that search what kg ingested."""
CONTESTANTS = {OWN: "kg:Kg", FLOOR: "floor:Floor", **PEERS}


def open_contestant(name: str, place: Place, embedder: SameEmbedder) -> Contestant:
    """Open one; only its own packages are imported."""
    module, _, kind = CONTESTANTS[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), kind)(place, embedder)
