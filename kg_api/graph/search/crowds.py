"""How many passages a vector index is asked about; remembered, so that a search costs no extra round trip."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Sequence

from cachetools import TTLCache, cached

from kg_api.graph.database import Graph
from kg_api.graph.search.shared_reading import SharedReading

CROWDED = 62_500
"""Passages from which on an index is asked for more than is fused, to find what is nearest (ADR 47, 94)."""
REMEMBERED_SECONDS = 1.0
WITHIN_SECONDS = 60.0
"""For so long it is remembered of some ontologies: of many documents counting takes a while."""
MAX_REMEMBERED = 1000
SAMPLE = 20
"""Sources of an ontology whose chunks are counted: its configuration decides most of how many one has."""


class Crowds:
    """Counts passages. Thread-safe; one a process."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._passages = 0
        self._counted_at = float("-inf")
        self._counting = SharedReading(self._count)
        remembered = TTLCache[tuple[Hashable, ...], int](MAX_REMEMBERED, WITHIN_SECONDS)
        self._stored = cached(remembered, lock=threading.Lock())(self._count_stored)

    def of(self, ontologies: Sequence[str] | None) -> int:
        """How many passages some ontologies have, about; all for None. Few are not told apart."""
        if time.monotonic() - self._counted_at > REMEMBERED_SECONDS:
            self._counting.read()
        if ontologies is None or self._passages <= CROWDED:
            return self._passages
        return min(self._passages, self._stored(tuple(sorted(ontologies))))

    def _count(self) -> None:
        begun = time.monotonic()
        self._passages = self._graph.read("search/count_passages")[0]["passages"]
        self._counted_at = begun

    def _count_stored(self, ontologies: tuple[str, ...]) -> int:
        given = {"ontologies": [*ontologies], "sample": SAMPLE}
        return round(self._graph.read("search/count_stored", **given)[0]["passages"])
