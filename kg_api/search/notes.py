"""What a search could not do, and how long each stage took."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Literal, get_args

from kg_api.metrics import meters
from kg_api.schemas.search import Degradation, Respelling
from kg_api.tracing import span

# What a search could not do, collected while it runs.

Step = Literal["plan", "lanes", "seeds", "concepts", "rank", "page", "context", "find_concepts"]


class Notes:
    """All that an answer gives as `degraded`, in the order of the steps, whichever was done first.

    A step that is done again says anew what it could not do. Steps may run side by side.
    """

    def __init__(self) -> None:
        self._of: dict[Step, list[Degradation]] = {}
        self.respelt: list[Respelling] = []
        """Words that no text has, and what was looked for as well."""

    def record(self, step: Step, degradations: Iterable[Degradation]) -> None:
        """Note what a step could not do, and what was done instead."""
        self._of[step] = list(degradations)

    @property
    def all(self) -> list[Degradation]:
        return [each for step in get_args(Step) for each in self._of.get(step, ())]

    @property
    def unique(self) -> list[Degradation]:
        """All of them, each once."""
        every = self.all
        return [each for at, each in enumerate(every) if each not in every[:at]]


# How long each stage of a search took, for its answer and for /metrics.


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
            meters().observe("search_stage_seconds", self._of, name, seconds=taken)

    def milliseconds(self) -> dict[str, float]:
        """By stage, and `total` since the stopwatch was made."""
        return {**self._taken, "total": round((time.perf_counter() - self._begun) * 1000, 2)}
