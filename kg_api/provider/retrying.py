"""The one way in which kg asks a provider again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
import tenacity

from kg_api.metrics.meters import meters
from kg_api.provider.waiting import wait

log = structlog.get_logger(__name__)
T = TypeVar("T")

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
        ask: Callable[[float | None], T],
        give_up: GiveUp,
        until: float | None = None,
        *,
        kind: str = "other",
    ) -> T:
        """Ask, and ask again after each `RetryableError`; any other error is final.

        Args:
            ask: is given the seconds left until the deadline, None without one.
            give_up: makes the error that is raised in the end.
            until: the deadline, by `clock`: no try begins later, and no wait goes beyond it.
            kind: what is asked, for /metrics.
        """
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
    meters().providers.retry(kind)
    log.warning("asking again", reason=reason, tries=state.attempt_number, wait_seconds=seconds)
