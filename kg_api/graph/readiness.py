"""Asking a Neo4j by a query whether it does its work: one that shakes hands may have panicked."""

from __future__ import annotations

import time

from kg_api.errors import DatabasePanicked, KgError, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.jobs import SOURCE_EMBEDDING, Progress, embedding_progress
from kg_api.graph.schema import IndexState, index_states
from kg_api.graph.search import SharedReading


class DatabaseProbe:
    """Asks one database, over one connection that is kept."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def trouble(self) -> str | None:
        """Say why it does not answer a query; None when it does, or when settings are to blame."""
        error = self._ask()
        return str(error) if isinstance(error, Unavailable) else None

    def panic(self) -> str | None:
        """Say that nothing but another start helps; None as long as it answers, or may yet by itself."""
        error = self._ask()
        return str(error) if isinstance(error, DatabasePanicked) else None

    def _ask(self) -> KgError | None:
        try:
            self._graph.read("probes/alive")
        except KgError as error:
            return error
        return None


# Whether the indexes answer with all that is stored; asked at most every few seconds.

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
