"""What filters chose a moment ago, which holds until a document is written."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from kg_api.graph.database import Graph
from kg_api.graph.filters.matching import (
    describe_missing_keys,
    keys_of,
    matching_documents,
    read_keys,
)
from kg_api.models.queries.filters import Clause
from kg_api.models.queries.search import Degradation

Matching = Mapping[str, Sequence[str]]
SETTLED_SECONDS = 2.0
"""A write that is counted may take a moment until all of it is seen."""
KEPT_SECONDS = 60.0
MAX_KEPT_IDS = 200_000
MAX_KEPT = 100


def count_writes(graph: Graph) -> int:
    """How many transactions have changed documents so far: the same number, the same documents."""
    return graph.read("documents/writes")[0]["writes"]


class RememberedFilters:
    """Gives the documents that fit a filter; the same filter again costs a count only. For all threads.

    Exact: each transaction that changes documents is counted in the database. What was chosen is kept where
    that number has stood still for a moment, and given while it stands.
    """

    def __init__(self, graph: Graph, clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._lock = threading.Lock()
        self._writes = -1
        self._seen_at = 0.0
        self._kept: OrderedDict[str, tuple[float, Matching]] = OrderedDict()

    def matching(
        self,
        where: Sequence[Clause],
        ontologies: Sequence[str] | None,
        document_ids: Sequence[str] | None = None,
    ) -> Matching:
        key = repr(([each.model_dump() for each in where], ontologies, document_ids))
        return self._remembered(key, lambda: matching_documents(self._graph, where, ontologies, document_ids))

    def describe_unknown_fields(
        self, where: Sequence[Clause], ontologies: Sequence[str] | None
    ) -> list[Degradation]:
        """As the function of that name does.

        Raises:
            InvalidInput: there is a field that is spelt nearly so.
        """
        asked = keys_of(where)
        if not asked:
            return []
        known = self._remembered(repr(ontologies), lambda: {"": read_keys(self._graph, ontologies)})
        return describe_missing_keys(asked, known[""])

    def _remembered(self, key: str, look: Callable[[], Matching]) -> Matching:
        writes = count_writes(self._graph)
        known = self._known(writes, key)
        if known is not None:
            return known
        asked_at = self._clock()  # not when it is answered, which may be seconds after
        found = look()
        self._keep(writes, key, found, asked_at)
        return found

    def _known(self, writes: int, key: str) -> Matching | None:
        with self._lock:
            now = self._clock()
            if writes != self._writes:
                self._writes, self._seen_at = writes, now
                self._kept.clear()
            kept_at, found = self._kept.get(key, (float("-inf"), None))
            return found if now - kept_at < KEPT_SECONDS else None

    def _keep(self, writes: int, key: str, found: Matching, asked_at: float) -> None:
        with self._lock:
            if writes != self._writes or asked_at - self._seen_at < SETTLED_SECONDS:
                return
            self._kept[key] = (asked_at, found)
            while len(self._kept) > MAX_KEPT or self._ids > MAX_KEPT_IDS:
                self._kept.popitem(last=False)

    @property
    def _ids(self) -> int:
        return sum(len(ids) for _, found in self._kept.values() for ids in found.values())
