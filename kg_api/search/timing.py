"""How long each stage of a search took, for its answer and for /metrics."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from kg_api.metrics.meters import meters
from kg_api.tracing.spans import span


class Stopwatch:
    """Collects the milliseconds of named stages; stages that run side by side overlap."""

    def __init__(self, of: str = "search") -> None:
        """Begin; `of` names in /metrics what has the stages."""
        self._of = of
        self._begun = time.perf_counter()
        self._taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time what runs inside; a stage that runs again adds up."""
        begun = time.perf_counter()
        try:
            with span(f"{self._of}: {name}"):
                yield
        finally:
            taken = time.perf_counter() - begun
            self._taken[name] = round(self._taken.get(name, 0) + taken * 1000, 2)
            meters().stages.record(self._of, name, taken)

    def milliseconds(self) -> dict[str, float]:
        """By stage, and `total` since the stopwatch was made."""
        return {**self._taken, "total": round((time.perf_counter() - self._begun) * 1000, 2)}
