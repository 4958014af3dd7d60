"""How many passages a vector index is asked about; remembered, so that a search costs no extra round trip."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence

from cachetools import TTLCache, cached

from kg_api.graph.database import Graph
from kg_api.graph.search.shared_reading import SharedReading

CROWDED = 62_500
"""Passages from which on an index is asked for more than is fused, to find what is nearest (ADR 47, 94)."""
WITHIN_SECONDS = 60.0
"""For so long it is remembered of some ontologies: of many documents counting takes a while."""
MAX_REMEMBERED = 1000
SAMPLE = 20
"""Sources of an ontology whose chunks are counted: its configuration decides most of how many one has."""


class Crowds:
    """Counts passages. Thread-safe; one a process."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._passages = SharedReading(self._count)
        remembered = TTLCache[tuple[Hashable, ...], int](MAX_REMEMBERED, WITHIN_SECONDS)
        self._stored = cached(remembered, lock=threading.Lock())(self._count_stored)

    def of(self, ontologies: Sequence[str] | None) -> int:
        """How many passages some ontologies have, about; all for None. Few are not told apart."""
        passages = self._passages.recent()
        if ontologies is None or passages <= CROWDED:
            return passages
        return min(passages, self._stored(tuple(sorted(ontologies))))

    def _count(self) -> int:
        return self._graph.read("search/count_passages")[0]["passages"]

    def _count_stored(self, ontologies: tuple[str, ...]) -> int:
        given = {"ontologies": [*ontologies], "sample": SAMPLE}
        return round(self._graph.read("search/count_stored", **given)[0]["passages"])
