"""When kg sends a request to a provider: retries, waits that can be given up, requests in flight."""

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
from kg_api.metrics import meters

# Asking and waiting for a provider, as long as somebody waits for what is asked of it.

WaitedT = TypeVar("WaitedT")

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class Abandoned(Exception):
    """Nobody waits any more for what was to be asked; no fault of anybody."""


@contextmanager
def waiting_unless(given_up: threading.Event) -> Generator[None]:
    """Within, the calling thread's waits for a provider end as soon as the event is set."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


def wait(seconds: float) -> None:
    given_up = _given_up.get()
    if given_up is None:
        time.sleep(seconds)
    elif given_up.wait(seconds):
        raise Abandoned


def ask_at_once(questions: Iterable[Callable[[], WaitedT]], at_once: int) -> list[WaitedT]:
    """Ask so many questions at a time; give the answers in the order of the questions.

    None is begun any more when one has failed, or when what this thread asks for is given up: each may cost
    money. What was begun is waited for.
    """
    with ThreadPoolExecutor(at_once) as pool:
        asked = [pool.submit(copy_context().run, _ask, each) for each in questions]
        try:
            futures.wait(asked, return_when=futures.FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() for each in asked]  # what was cancelled stands behind what failed


def _ask(question: Callable[[], WaitedT]) -> WaitedT:
    wait(0)
    return question()


# The one way in which kg asks a provider again.

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")

MAX_WAIT_SECONDS = 60.0
"""Seconds. A provider that asks for a longer rest is given up at once: the job waits, not the process."""


class RetryableError(Exception):
    """A failure that may pass by itself. The message never holds a key or a text."""

    def __init__(self, reason: str, retry_after: float | None = None, *, is_limit: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the provider asked to be left alone, if it said so."""
        self.is_limit = is_limit or retry_after is not None
        """Whether the provider wants fewer or later requests, whatever they contain."""


class RejectedText(KgError):
    """A model does not take a text, or returns nothing usable for it; the reason is the message."""


GiveUp = Callable[[str, float | None], Exception]
"""Makes the error to raise from a reason and the seconds that the provider asked for."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits of 1, 2, 4, ... seconds and up to a quarter more, never shorter than the provider asks for."""

    tries: int = 3
    """In all: 3 tries have two waits between them, of 1 and 2 s."""
    first_wait: float = 1.0
    max_wait: float = MAX_WAIT_SECONDS
    jitter: float = 0.25
    """Share of a wait that is added at random, so that many workers do not come back at once."""
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
        """Ask, and ask again after each `RetryableError`; any other error is final."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(RetryableError),
            wait=self._wait,
            stop=lambda state: self._is_over(state, until),
            sleep=self.sleep,
            before_sleep=partial(_log_retry, kind),
            reraise=True,
        )
        try:
            return retrying(lambda: ask(None if until is None else max(until - self.clock(), 0.001)))
        except RetryableError as last:
            reason, asked = str(last), last.retry_after
        raise give_up(reason, asked)  # outside: what the provider's client holds stays out of the chain

    def _wait(self, state: tenacity.RetryCallState) -> float:
        usual = self.first_wait * 2 ** (state.attempt_number - 1)
        spread = random.uniform(0, self.jitter * usual)  # noqa: S311 - spreads retries, no secret
        return max(usual, _read_retry_after(state) or 0) + spread

    def _is_over(self, state: tenacity.RetryCallState, until: float | None) -> bool:
        too_long = (_read_retry_after(state) or 0) > self.max_wait
        too_late = until is not None and self.clock() + state.upcoming_sleep >= until
        return too_long or too_late or state.attempt_number >= self.tries


def _read_retry_after(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, RetryableError) else None


def _log_retry(kind: str, state: tenacity.RetryCallState) -> None:
    reason = str(state.outcome.exception()) if state.outcome else ""
    seconds = round(state.upcoming_sleep, 2)
    meters().count("provider_retries", kind)
    log.warning("asking again", reason=reason, tries=state.attempt_number, wait_seconds=seconds)


class Limiter:
    """Bounds the requests in flight to one model, and pauses all of them while the provider wants a rest."""

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
                if error.is_limit and rest <= MAX_WAIT_SECONDS:  # a longer one ends the job's try
                    self._rests_until = max(self._rests_until, self._clock() + rest)
                raise
