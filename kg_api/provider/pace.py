"""How fast a provider is asked by several threads at once: as it says itself."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial

from kg_api.provider.classify import is_retryable, retry_after
from kg_api.provider.http import replies_told_to
from kg_api.provider.retrying import MAX_WAIT_SECONDS
from kg_api.provider.waiting import wait

LOOK_SECONDS = 0.05
"""How often a thread looks whether its turn has come, while fewer may ask than want to."""
_TOO_MANY = 429
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Pace:
    """Lets requests begin, and fewer at once after one was too many. One for all threads that ask a model.

    A thread that is refused comes back by itself (`RetryPolicy`); this keeps the others from running into
    the same refusal meanwhile, which would cost each of them a try.
    """

    def __init__(
        self,
        most: int,
        first_rest: float = 1.0,
        *,
        sleep: Callable[[float], None] = wait,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a bound.

        Args:
            most: so many at once are no bound any more.
            first_rest: seconds for which nothing begins after a refusal that names no time.
            sleep: waits for a turn.
            clock: tells the time.
        """
        self._most = most
        self._first_rest = first_rest
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = 0
        self._bound: float | None = None
        self._rests_until = float("-inf")

    @property
    def bound(self) -> float | None:
        """So many may ask at once; None: as many as want to."""
        return self._bound

    @contextmanager
    def turn(self, tokens: int = 0) -> Generator[None]:
        """Wait until a request of so many tokens may begin; what is answered within is listened to."""
        while seconds := self._begin():
            self._sleep(seconds)
        try:
            with replies_told_to(partial(self.hear, tokens)):
                yield
        finally:
            with self._lock:
                self._asking -= 1

    def hear(self, tokens: int, status: int, headers: Mapping[str, str]) -> None:
        """Learn from a reply to a request of so many tokens; names of headers in lower case."""
        with self._lock:
            if status == _TOO_MANY or (is_retryable(status) and retry_after(headers) is not None):
                self._refused(retry_after(headers))
            else:
                self._rest(_room_in(headers, self._asking, tokens * self._asking))
                if self._bound is not None:
                    self._bound += 1 / self._bound
                    self._bound = None if self._bound >= self._most else self._bound

    def _begin(self) -> float:
        """Begin a request; or how many seconds to wait before the next attempt to."""
        with self._lock:
            if (left := self._rests_until - self._clock()) > 0:
                return left
            if self._bound is not None and self._asking >= int(self._bound):
                return LOOK_SECONDS
            self._asking += 1
            return 0.0

    def _refused(self, asked: float | None) -> None:
        """Half as many from now on; those refused at once with the first count as one refusal."""
        if self._clock() >= self._rests_until:
            self._bound = max(1.0, self._asking / 2)
        self._rest(self._first_rest if asked is None else asked)

    def _rest(self, seconds: float) -> None:
        if seconds <= MAX_WAIT_SECONDS:  # else it is given up, and the job waits
            self._rests_until = max(self._rests_until, self._clock() + seconds)


def _room_in(headers: Mapping[str, str], requests: int, tokens: int) -> float:
    """Seconds until a provider that tells its limits, as OpenAI does, has room for so much more.

    Its `reset` is the time in which all of a limit is there again, so a part of it comes in a part of that.
    """
    return max(_room(headers, "requests", requests), _room(headers, "tokens", tokens))


def _room(headers: Mapping[str, str], what: str, needed: int) -> float:
    limit, remaining = (_number(headers.get(f"x-ratelimit-{each}-{what}")) for each in ("limit", "remaining"))
    if limit is None or remaining is None or remaining >= needed or remaining >= limit:
        return 0.0
    share = min(needed - remaining, limit - remaining) / (limit - remaining)
    return share * _seconds(headers.get(f"x-ratelimit-reset-{what}", ""))


def _number(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"\d{1,12}", value) else None


def _seconds(value: str) -> float:
    """A time as OpenAI writes it, such as `6m0s` or `20ms`; 0 for what is none."""
    parts: list[tuple[str, str]] = _PART.findall(value)
    whole = "".join(number + unit for number, unit in parts)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if whole == value else 0.0
