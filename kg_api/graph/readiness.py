"""Whether the indexes answer with all that is stored; asked at most every few seconds."""

from __future__ import annotations

import time

from kg_api.graph.database import Graph
from kg_api.graph.indexes import IndexState, index_states
from kg_api.graph.jobs import Progress, embedding_progress
from kg_api.graph.jobs.records import SOURCE_EMBEDDING
from kg_api.graph.search.shared_reading import SharedReading

REMEMBERED_SECONDS = 5.0


class EmbeddingWatch:
    """Remembers for a second which ontologies are being embedded, or worked on in another way."""

    def __init__(self, graph: Graph, kind: str = SOURCE_EMBEDDING) -> None:
        self._progress = SharedReading(lambda: embedding_progress(graph, kind))

    def read(self) -> dict[str, Progress]:
        """How far each is, by ontology."""
        return self._progress.recent()


class IndexWatch:
    """Remembers for a moment which indexes are not online, so that a search costs no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read_at = float("-inf")
        self._states: dict[str, IndexState | None] = {}

    def populating(self, *names: str) -> dict[str, str]:
        """Those of the named indexes that are not online, each with its state as a person reads it."""
        too_old = time.monotonic() - self._read_at > REMEMBERED_SECONDS
        if too_old or not self._states.keys() >= set(names):
            self._states = {**dict.fromkeys(names), **index_states(self._graph)}
            self._read_at = time.monotonic()
        told = {name: _describe(self._states.get(name)) for name in names}
        return {name: state for name, state in told.items() if state is not None}


def _describe(state: IndexState | None) -> str | None:
    if state is None:
        return "not there"
    return None if state.online else f"{state.state.lower()}, {state.percent:.0f} % populated"
