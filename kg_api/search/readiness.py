"""Whether the indexes answer with all that is stored; asked at most every few seconds."""

from __future__ import annotations

import time

from kg_api.graph.database import Graph
from kg_api.graph.indexes import index_states
from kg_api.graph.jobs import Progress, embedding_progress

REMEMBERED_SECONDS = 5.0
PROGRESS_REMEMBERED_SECONDS = 1.0


class EmbeddingWatch:
    """Remembers for a second which ontologies are being embedded."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read_at = float("-inf")
        self._progress: dict[str, Progress] = {}

    def read(self) -> dict[str, Progress]:
        """How far each is, by ontology."""
        if time.monotonic() - self._read_at > PROGRESS_REMEMBERED_SECONDS:
            self._progress = embedding_progress(self._graph)
            self._read_at = time.monotonic()
        return self._progress


class IndexWatch:
    """Remembers for a moment which indexes are not online, so that a search costs no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read_at = float("-inf")
        self._missing: dict[str, str] = {}

    def populating(self, *names: str) -> dict[str, str]:
        """Those of the named indexes that are not online, each with its state as a person reads it."""
        if time.monotonic() - self._read_at > REMEMBERED_SECONDS:
            states = index_states(self._graph)
            self._missing = {
                name: f"{state.state.lower()}, {state.percent:.0f} % populated"
                for name, state in states.items()
                if not state.online
            } | {name: "not there" for name in names if name not in states}
            self._read_at = time.monotonic()
        return {name: self._missing[name] for name in names if name in self._missing}
