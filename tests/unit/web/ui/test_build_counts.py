from __future__ import annotations

from collections.abc import Callable

from kg_api.schemas.documents import EmbeddingStatus
from kg_api.web.ui.routes.embedding import BuildCounts


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def status(embedded: int) -> EmbeddingStatus:
    return EmbeddingStatus(
        ontology="notes", embedded=embedded, missing=0, stale=0, refused=0, total=9, searchable=0,
    )  # fmt: skip


def counting(clock: Clock, counted: list[int], seconds: float) -> Callable[[], EmbeddingStatus]:
    def count() -> EmbeddingStatus:
        clock.now += seconds
        counted.append(len(counted))
        return status(len(counted))

    return count


def test_many_pages_count_once() -> None:
    clock, counted = Clock(), list[int]()
    counts, count = BuildCounts(clock), counting(clock, counted, 0.01)
    assert [counts.of("notes", "large", count).embedded for _ in range(100)] == [1] * 100
    clock.now += 3  # a page looks every three seconds
    assert counts.of("notes", "large", count).embedded == 2
    assert counts.of("other", "large", count).embedded == 3
    assert len(counted) == 3


def test_next_build_starts_with_its_own_counts() -> None:
    counts = BuildCounts(Clock())
    assert counts.of("notes", "large", lambda: status(9)).embedded == 9
    assert counts.of("notes", "small", lambda: status(0)).embedded == 0
    assert counts.of("notes", "large", lambda: status(1)).embedded == 9


def test_slow_counts_are_refreshed_rarely() -> None:
    clock, counted = Clock(), list[int]()
    counts, count = BuildCounts(clock), counting(clock, counted, 1.0)
    for _ in range(60):
        counts.of("notes", "large", count)
        clock.now += 1
    assert len(counted) == 3
    slow = counting(clock, counted, 30.0)
    counts.of("slow", "large", slow)
    clock.now += 61
    counts.of("slow", "large", slow)
    assert len(counted) == 5, "after a minute in any case"
