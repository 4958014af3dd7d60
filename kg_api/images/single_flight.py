"""What several ask for at once is done by the first of them, and the others get what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from kg_api.errors import TooBusy

Result = TypeVar("Result")
MAX_WAITING = 20
"""Each of them holds a thread, and a process of the service has forty for all that it does."""


class SingleFlight(Generic[Result]):
    """Does what is asked for by a key once at a time. Thread-safe."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Result]] = {}
        self._waiting = threading.BoundedSemaphore(max_waiting)

    def do(self, key: str, work: Callable[[], Result]) -> Result:
        """What the work gives, or raises, whoever does it.

        Raises:
            TooBusy: too many wait for others already.
        """
        with self._lock:
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future[Result]()
        return self._work(key, flight, work) if mine else self._result(flight)

    def _work(self, key: str, flight: Future[Result], work: Callable[[], Result]) -> Result:
        try:
            result = work()
        except BaseException as error:
            self._end(key)
            flight.set_exception(error)
            raise
        self._end(key)
        flight.set_result(result)
        return result

    def _end(self, key: str) -> None:
        with self._lock:
            del self._flights[key]

    def _result(self, flight: Future[Result]) -> Result:
        if not self._waiting.acquire(blocking=False):
            raise TooBusy("too many wait for this page; try again in a few seconds")
        try:
            return flight.result()
        finally:
            self._waiting.release()
