"""The one way in which kg asks a provider again: models that embed, models that write."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import structlog
import tenacity

log = structlog.get_logger(__name__)
T = TypeVar("T")

LONGEST_WAIT = 60.0
"""Seconds. A provider that asks for a longer rest is given up at once: the job waits, not the process."""
_SERVERS_OWN = 500
_NOT_WORTH_IT = {501, 505}
_A_DAY = 86_400.0


class TryAgain(Exception):
    """A failure that may pass by itself. The message never holds a key or a text."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the provider asked to be left alone, if it said so."""


GaveUp = Callable[[str, float | None], Exception]
"""Makes the error to raise from a reason and the seconds that the provider asked for."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits of 1, 2, 4, ... seconds and up to a quarter more, never shorter than the provider asks for."""

    tries: int = 3
    """In all: 3 tries have two waits between them, of 1 and 2 s."""
    first_wait: float = 1.0
    longest_wait: float = LONGEST_WAIT
    jitter: float = 0.25
    """Share of a wait that is added at random, so that many workers do not come back at once."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def call(self, ask: Callable[[float | None], T], gave_up: GaveUp, until: float | None = None) -> T:
        """Ask, and ask again after each `TryAgain`; any other error is final.

        Args:
            ask: is given the seconds left until the deadline, None without one.
            gave_up: makes the error that is raised in the end.
            until: the deadline, by `clock`: no try begins later, and no wait goes beyond it.
        """
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TryAgain),
            wait=self._wait,
            stop=lambda state: self._is_over(state, until),
            sleep=self.sleep,
            before_sleep=_tell,
            reraise=True,
        )
        try:
            return retrying(lambda: ask(None if until is None else max(until - self.clock(), 0.001)))
        except TryAgain as last:
            reason, asked = str(last), last.retry_after
        raise gave_up(reason, asked)  # outside: what the provider's client holds stays out of the chain

    def _wait(self, state: tenacity.RetryCallState) -> float:
        usual = self.first_wait * 2 ** (state.attempt_number - 1)
        spread = random.uniform(0, self.jitter * usual)  # noqa: S311 - spreads retries, no secret
        return max(usual, _asked(state) or 0) + spread

    def _is_over(self, state: tenacity.RetryCallState, until: float | None) -> bool:
        too_long = (_asked(state) or 0) > self.longest_wait
        too_late = until is not None and self.clock() + state.upcoming_sleep >= until
        return too_long or too_late or state.attempt_number >= self.tries


def is_passing(status: int) -> bool:
    """Whether an HTTP status tells of a trouble that may pass: a time-out, a limit, the server's own."""
    return status in {408, 429} or (status >= _SERVERS_OWN and status not in _NOT_WORTH_IT)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a reply's Retry-After asks for, as a number or as an HTTP date; at most a day.

    Returns:
        None without the header, or when it is neither.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
        return min(float(value), _A_DAY)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0), _A_DAY)


def _asked(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, TryAgain) else None


def _tell(state: tenacity.RetryCallState) -> None:
    reason = str(state.outcome.exception()) if state.outcome else ""
    seconds = round(state.upcoming_sleep, 2)
    log.warning("asking again", reason=reason, tries=state.attempt_number, wait_seconds=seconds)
