"""How far builds are: counted for all who look at pages together, and only so often that it stays cheap."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from kg_api.models.library.documents import EmbeddingStatus

REMEMBERED_SECONDS: Final = 2.5
"""Less than pages take from one look to the next."""
PAUSE: Final = 20
"""Times as long as counting took nobody counts: what takes a second is counted three times a minute."""
MAX_REMEMBERED_SECONDS: Final = 60.0
FORGOTTEN_SECONDS: Final = 600.0


class _Count(NamedTuple):
    status: EmbeddingStatus
    counted_at: float
    took: float

    def is_fresh(self, now: float) -> bool:
        kept = min(max(REMEMBERED_SECONDS, PAUSE * self.took), MAX_REMEMBERED_SECONDS)
        return now - self.counted_at < kept


class BuildCounts:
    """What was counted of ontologies, and not long ago. Thread-safe; one a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[tuple[str, str], _Count] = {}
        self._counting = threading.Lock()

    def of(self, ontology: str, space: str, count: Callable[[], EmbeddingStatus]) -> EmbeddingStatus:
        """What of an ontology is embedded in a space.

        Args:
            ontology: which.
            space: that it is built in: what was counted of a build says nothing of the next one.
            count: counts it; while somebody else counts, what is known is given.
        """
        built = (ontology, space)
        known = self._counts.get(built)
        if known and known.is_fresh(self._clock()):
            return known.status
        if not self._counting.acquire(blocking=known is None) and known:
            return known.status
        try:
            known = self._counts.get(built)  # who held the lock may have counted it
            return known.status if known and known.is_fresh(self._clock()) else self._count(built, count)
        finally:
            self._counting.release()

    def _count(self, built: tuple[str, str], count: Callable[[], EmbeddingStatus]) -> EmbeddingStatus:
        began = self._clock()
        status, now = count(), self._clock()
        since = now - FORGOTTEN_SECONDS
        kept = {one: each for one, each in self._counts.items() if each.counted_at > since}
        self._counts = {**kept, built: _Count(status, now, now - began)}
        return status
