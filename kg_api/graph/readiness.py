"""Probe to query Neo4j. A server that has panicked still accepts connections."""

from __future__ import annotations

from kg_api.errors import DatabasePanicked, KgError, Unavailable
from kg_api.graph.client import Graph


class DatabaseProbe:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def trouble(self) -> str | None:
        """Explain why Neo4j does not answer a query. None: it answers, or settings are wrong."""
        error = self._ask()
        return str(error) if isinstance(error, Unavailable) else None

    def panic(self) -> str | None:
        """Return the error if only a restart of Neo4j helps. None: Neo4j answers, or may recover."""
        error = self._ask()
        return str(error) if isinstance(error, DatabasePanicked) else None

    def _ask(self) -> KgError | None:
        try:
            self._graph.read("probes/alive")
        except KgError as error:
            return error
        return None
