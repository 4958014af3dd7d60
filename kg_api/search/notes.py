"""Limitations and timings of a search."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

from kg_api.graph.jobs import Progress
from kg_api.metrics import get_meters
from kg_api.schemas.search import Degradation, Respelling
from kg_api.tracing import span

# Limitations, collected during the search

Step = Literal["plan", "lanes", "seeds", "concepts", "rank", "page", "context", "find_concepts"]


class Notes:
    """Limitations to show in `degraded`, in the order of the steps.

    A repeated step replaces its notes. Steps may run in parallel.
    """

    def __init__(self) -> None:
        self._of: dict[Step, list[Degradation]] = {}
        self.respelt: list[Respelling] = []
        """Misspelled words, and the words that were added to the search."""

    def record(self, step: Step, degradations: Iterable[Degradation]) -> None:
        self._of[step] = list(degradations)

    @property
    def all(self) -> list[Degradation]:
        return [each for step in get_args(Step) for each in self._of.get(step, ())]

    @property
    def unique(self) -> list[Degradation]:
        every = self.all
        return [each for at, each in enumerate(every) if each not in every[:at]]


MAX_DESCRIBED = 10


def describe_embedding_progress(
    progress: Mapping[str, Progress], ontologies: Collection[str], others: str = "are not compared"
) -> list[Degradation]:
    """Describe the progress in ontologies that are not complete. `others` is used for pending sources."""
    waiting = [(name, at) for name, at in progress.items() if name in ontologies][:MAX_DESCRIBED]
    return [Degradation(part="vectors", effect=f"{name}: {_describe(at, others)}") for name, at in waiting]


def _describe(at: Progress, others: str) -> str:
    far = f"{at.done} of {at.total} sources"
    if at.replaces:
        return f"kg replaces the vectors ({far}), and uses the previous ones. Sources added since {others}"
    return f"embedding is in progress ({far}). The others {others}"


# Timings for the response and for /metrics


class Stopwatch:
    """Measures stages in milliseconds. If they run in parallel, they overlap."""

    def __init__(self, of: str = "search") -> None:
        """Start the stopwatch. `of` is used to name the stages in /metrics."""
        self._of = of
        self._begun = time.perf_counter()
        self._taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time a stage. If it is repeated, the times are added."""
        begun = time.perf_counter()
        try:
            with span(f"{self._of}: {name}"):
                yield
        finally:
            taken = time.perf_counter() - begun
            self._taken[name] = round(self._taken.get(name, 0) + taken * 1000, 2)
            get_meters().observe("search_stage_seconds", self._of, name, seconds=taken)

    def get_milliseconds(self) -> dict[str, float]:
        """Get the milliseconds for each stage, and `total` since the start."""
        return {**self._taken, "total": round((time.perf_counter() - self._begun) * 1000, 2)}
