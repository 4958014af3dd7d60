"""Several threads at a provider that rejects requests for their rate."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from kg_api.providers.retrying import Limiter, RetryableError
from tests.unit.test_retrying import Time


class Threads:
    """A limiter with a clock of its own."""

    def __init__(self, most: int = 8) -> None:
        self.time = Time()
        self.limiter = Limiter(most, sleep=self.time.sleep, clock=self.time.clock)

    def refuse(self, retry_after: float | None = None, *, is_limit: bool = True) -> None:
        with suppress(RetryableError), self.limiter.slot():
            raise RetryableError("no", retry_after, is_limit=is_limit)

    def wait(self) -> float:
        """Return the seconds until the next request may begin."""
        before = self.time.now
        with self.limiter.slot():
            return self.time.now - before


@pytest.mark.parametrize(("asked", "seconds"), [(7, 7), (None, 1), (0, 0), (61, 0)])
def test_refusal_holds_all_back_as_long_as_asked(asked: float | None, seconds: float) -> None:
    """A provider that asks for more than a minute is given up: the job waits."""
    threads = Threads()
    threads.refuse(asked)
    assert threads.wait() == pytest.approx(seconds)


def test_failure_of_a_server_holds_nobody_back() -> None:
    threads = Threads()
    threads.refuse(is_limit=False)
    assert threads.wait() == 0


def test_limiter_bounds_requests_in_flight() -> None:
    threads = Threads(most=2)
    free = threading.Event()

    def request() -> None:
        with threads.limiter.slot():
            free.set()

    with threads.limiter.slot(), threads.limiter.slot():
        third = threading.Thread(target=request)
        third.start()
        assert not free.wait(0.1)
    third.join(5)
    assert free.is_set()
