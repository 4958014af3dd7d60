"""How long each stage of a search took."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager


class Stopwatch:
    """Collects the milliseconds of named stages; stages that run side by side overlap."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time what runs inside; a stage that runs again adds up."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            taken = (time.perf_counter() - begun) * 1000
            self._taken[name] = round(self._taken.get(name, 0) + taken, 2)

    def milliseconds(self) -> dict[str, float]:
        """By stage, and `total` since the stopwatch was made."""
        return {**self._taken, "total": round((time.perf_counter() - self._begun) * 1000, 2)}
