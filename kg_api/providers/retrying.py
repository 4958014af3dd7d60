"""Retries, cancellable waits, and limits of parallel requests to providers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
import tenacity

from kg_api.errors import KgError
from kg_api.metrics import get_meters

# Waits that end when the caller no longer needs the result

WaitedT = TypeVar("WaitedT")

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class RetryCancelled(Exception):
    """Signal that the result is no longer needed."""


@contextmanager
def cancel_waits_on(given_up: threading.Event) -> Generator[None]:
    """Cancel waits for a provider in this thread when the event is set."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


def wait(seconds: float) -> None:
    given_up = _given_up.get()
    if given_up is not None:
        if given_up.wait(seconds):
            raise RetryCancelled
    elif seconds:
        time.sleep(seconds)


def ask_at_once(questions: Iterable[Callable[[], WaitedT]], at_once: int) -> list[WaitedT]:
    """Call functions in up to `at_once` threads, and return the results in order.

    After a failure or a cancellation, no further call starts, because each may cost money. Running calls
    finish. A single call runs in the thread of the caller.
    """
    calls = [*questions]
    if len(calls) < 2:  # noqa: PLR2004
        return [_ask(each) for each in calls]
    with ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(copy_context().run, _ask, each) for each in calls]
        try:
            futures.wait(pending, return_when=futures.FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() for each in pending]  # cancelled calls come after the failed one


def _ask(question: Callable[[], WaitedT]) -> WaitedT:
    wait(0)
    return question()


# Retry policy of all requests to providers

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")

MAX_WAIT_SECONDS = 60.0
"""Seconds. A longer Retry-After ends the retries, so that the job waits instead of the process."""


class RetryableError(Exception):
    """Temporary failure. The message never contains a key or a text."""

    def __init__(self, reason: str, retry_after: float | None = None, *, is_limit: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after  # seconds in Retry-After, or None
        self.is_limit = is_limit or retry_after is not None
        """Whether the provider limits the rate of requests."""


class RejectedText(KgError):
    """Error for a text that a model rejects or cannot embed. The message is the reason."""


GiveUp = Callable[[str, float | None], Exception]
"""Function that makes the final error from a reason and the seconds of Retry-After."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits of 1, 2, 4, ... seconds plus up to a quarter, at least the provider's Retry-After."""

    tries: int = 3  # total: 3 tries have waits of 1 and 2 s
    first_wait: float = 1.0
    max_wait: float = MAX_WAIT_SECONDS
    jitter: float = 0.25  # random share of a wait, so that workers do not retry at the same time
    sleep: Callable[[float], None] = wait
    clock: Callable[[], float] = time.monotonic

    def call(
        self,
        ask: Callable[[float | None], ResultT],
        give_up: GiveUp,
        until: float | None = None,
        *,
        kind: str = "other",
    ) -> ResultT:
        """Call `ask`, and repeat it after each `RetryableError`. Other errors are final."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(RetryableError),
            wait=self._wait,
            stop=lambda state: self._is_exhausted(state, until),
            sleep=self.sleep,
            before_sleep=partial(_log_retry, kind),
            reraise=True,
        )
        try:
            return retrying(lambda: ask(None if until is None else max(until - self.clock(), 0.001)))
        except RetryableError as last:
            reason, retry_after = str(last), last.retry_after
        raise give_up(
            reason, retry_after
        )  # outside of the handler, so that the provider's error is not chained

    def _wait(self, state: tenacity.RetryCallState) -> float:
        usual = self.first_wait * 2 ** (state.attempt_number - 1)
        spread = random.uniform(0, self.jitter * usual)  # noqa: S311 - spreads retries, no secret
        return max(usual, _read_retry_after(state) or 0) + spread

    def _is_exhausted(self, state: tenacity.RetryCallState, until: float | None) -> bool:
        too_long = (_read_retry_after(state) or 0) > self.max_wait
        too_late = until is not None and self.clock() + state.upcoming_sleep >= until
        return too_long or too_late or state.attempt_number >= self.tries


def _read_retry_after(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, RetryableError) else None


def _log_retry(kind: str, state: tenacity.RetryCallState) -> None:
    reason = str(state.outcome.exception()) if state.outcome else ""
    seconds = round(state.upcoming_sleep, 2)
    get_meters().count("provider_retries", kind)
    log.warning("retrying", reason=reason, tries=state.attempt_number, wait_seconds=seconds)


class Limiter:
    """Limit of parallel requests to one model. After a rate limit, all requests pause."""

    def __init__(
        self, most: int, *, sleep: Callable[[float], None] = wait, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots = threading.BoundedSemaphore(most)
        self._sleep = sleep
        self._clock = clock
        self._rests_until = float("-inf")

    @contextmanager
    def slot(self) -> Generator[None]:
        with self._slots:
            while (left := self._rests_until - self._clock()) > 0:
                self._sleep(left)
            try:
                yield
            except RetryableError as error:
                rest = 1.0 if error.retry_after is None else error.retry_after
                if error.is_limit and rest <= MAX_WAIT_SECONDS:  # a longer one fails the job's try
                    self._rests_until = max(self._rests_until, self._clock() + rest)
                raise
