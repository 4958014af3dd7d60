"""What many ask for at the same time is read once for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")
REMEMBERED_SECONDS = 1.0


class SharedReading(Generic[Result]):
    """Reads for all that ask meanwhile, and remembers it for a while. Thread-safe.

    What a reading fails of is raised to all that wait, for the next one too: while the database is away each
    would try it again for seconds, one after the other.

    Args:
        read: reads; it may know nothing of who asks.
        seconds: for so long after it began a reading is remembered.
    """

    def __init__(self, read: Callable[[], Result], seconds: float = REMEMBERED_SECONDS) -> None:
        self._read = read
        self._seconds = seconds
        self._last: tuple[float, Result] | None = None
        """When it began, and what it gave."""
        self._lock = threading.Lock()
        self._under_way: Future[Result] | None = None
        self._next: Future[Result] | None = None
        """Of those who cannot take what is under way, for it began before they asked."""

    def remembered(self) -> Result | None:
        """What was read a moment ago; None where nothing was."""
        if self._last is None or time.monotonic() - self._last[0] > self._seconds:
            return None
        return self._last[1]

    def recent(self) -> Result:
        """What was read a moment ago, or is read now; raise what that fails of."""
        known = self.remembered()
        return self.read() if known is None else known

    def read(self, *, anew: bool = False) -> Result:
        """What is read, or raise what that fails of.

        Args:
            anew: by a reading that begins after this call; else one that is under way will do.
        """
        with self._lock:
            before = self._under_way
            joined = self._next if anew and before else before
            if joined is None:
                joined, mine = Future[Result](), True
                if before is None:
                    self._under_way = joined
                else:
                    self._next = joined
            else:
                mine = False
        if mine and (before is None or before.exception() is None):
            self._lead(joined)
        return joined.result()

    def _lead(self, mine: Future[Result]) -> None:
        begun = time.monotonic()
        try:
            result = self._read()
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it, this thread too
            for each in self._end(failed=True):
                each.set_exception(error)
        else:
            self._last = begun, result
            self._end(failed=False)
            mine.set_result(result)

    def _end(self, *, failed: bool) -> list[Future[Result]]:
        """Let the next one begin; after a failure none does, and those that it concerns are given."""
        with self._lock:
            concerned = [each for each in (self._under_way, self._next) if each is not None]
            self._under_way, self._next = (None if failed else self._next), None
        return concerned
