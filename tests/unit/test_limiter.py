"""Several threads at a provider that rejects requests for their rate."""

from __future__ import annotations

from contextlib import ExitStack, suppress

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

    def answer(self, times: int) -> None:
        for _ in range(times):
            with self.limiter.slot():
                pass

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


def test_failure_of_a_server_changes_no_bound() -> None:
    threads = Threads()
    threads.refuse(is_limit=False)
    assert threads.limiter.bound == 8
    assert threads.wait() == 0


def test_refusals_halve_once_and_success_grows() -> None:
    threads = Threads()
    with suppress(RetryableError), ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(threads.limiter.slot())
        raise RetryableError("no", 2.0)
    assert threads.limiter.bound == 4
    threads.time.now += 2
    threads.answer(4)
    assert threads.limiter.bound == pytest.approx(4.9, abs=0.1)
    threads.answer(40)
    assert threads.limiter.bound == 8


def test_bound_limits_the_requests_in_flight() -> None:
    threads = Threads(most=2)
    with threads.limiter.slot(), threads.limiter.slot():
        assert threads.limiter._begin() == Limiter.POLL_SECONDS
    assert threads.limiter._begin() == 0
