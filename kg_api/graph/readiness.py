"""Asking a Neo4j by a query whether it does its work: one that shakes hands may have panicked."""

from __future__ import annotations

from kg_api.errors import DatabasePanicked, KgError, Unavailable
from kg_api.graph.client import Graph


class DatabaseProbe:
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
