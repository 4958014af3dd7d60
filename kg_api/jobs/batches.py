"""Going through what is due in batches: where a job goes on, how long that counts, and when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from kg_api.jobs.run import JobRun

LOOKED_SECONDS = 1.0
"""How long it is believed that nothing has changed of what a round began with."""


class Item(Protocol):
    """One of the things that are due."""

    @property
    def identity(self) -> str: ...

    @property
    def place(self) -> str:
        """Where it stands in the order in which they are gone through."""
        ...


ItemT = TypeVar("ItemT", bound=Item)


class Steady:
    """Whether what a round began with still holds; looked at once a second."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds = holds
        self._current = True
        self._looked_at = time.monotonic()

    def __call__(self) -> bool:
        """Whether it does; once it does not, never again."""
        if self._current and time.monotonic() - self._looked_at > LOOKED_SECONDS:
            self._current = self._holds()
            self._looked_at = time.monotonic()
        return self._current


Next = Callable[[str, int], Sequence[ItemT]]
"""At most so many that are due behind a place, in their order; "" is before all."""


def read_on(place: str, due: Next[ItemT], size: int) -> Iterator[Sequence[ItemT]]:
    """What is due behind a place in batches, each read when it is asked for."""
    while batch := due(place, size):
        yield batch
        place = batch[-1].place
        if len(batch) < size:
            return


def cursor_at(name: str, item: Item) -> str:
    """The cursor of a job that has got as far as an item of what has that name, which has no colon."""
    return f"{name}:{item.place}"


def place_of(cursor: str, name: str) -> str:
    """Where a resumed job goes on in what has that name; the beginning if it was not at it."""
    before, _, place = cursor.partition(":")
    return place if before == name else ""


def in_rounds(run: JobRun, go_round: Callable[[], bool]) -> None:
    """Go round until a round says that nothing is to be done again and nobody asked for more; end the job."""
    while True:
        if go_round():
            run.begin_anew()
        elif run.finish():
            return
