"""The retry policy: what is asked again, how long it waits, when it gives up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import ConfigurationError, EmbeddingUnavailable
from kg_api.providers.http import is_retryable, retry_after
from kg_api.providers.retrying import RetryableError, RetryPolicy

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Time:
    """A clock that only moves when someone sleeps or works."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now

    def policy(self, tries: int = 3, **more: float) -> RetryPolicy:
        return RetryPolicy(tries=tries, sleep=self.sleep, clock=self.clock, **more)


@dataclass
class Failing:
    """Fails as told, then works; each call takes its time."""

    time: Time
    failures: list[Exception]
    seconds: float = 0.0
    left: list[float | None] = field(default_factory=list)

    def __call__(self, left: float | None) -> str:
        self.left.append(left)
        self.time.now += self.seconds
        if self.failures:
            raise self.failures.pop(0)
        return "done"


def gave_up(reason: str, asked: float | None) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(reason, retry_after_seconds=asked)


def test_what_works_is_asked_once() -> None:
    time = Time()
    ask = Failing(time, [])
    assert time.policy().call(ask, gave_up) == "done"
    assert (len(ask.left), time.slept) == (1, [])


def test_three_tries_have_waits_of_1_and_2_seconds_and_up_to_a_quarter_more() -> None:
    time = Time()
    ask = Failing(time, [RetryableError(f"no {n}") for n in range(9)])
    with pytest.raises(EmbeddingUnavailable, match="no 2") as raised:
        time.policy().call(ask, gave_up)
    assert raised.value.retry_after_seconds is None
    assert len(ask.left) == 3
    assert 1 <= time.slept[0] <= 1.25
    assert 2 <= time.slept[1] <= 2.5


def test_with_more_tries_the_third_wait_is_4_seconds() -> None:
    time = Time()
    assert time.policy(tries=4).call(Failing(time, [RetryableError("no")] * 3), gave_up) == "done"
    assert [round(seconds / 1.125) for seconds in time.slept] == [1, 2, 4]


def test_waits_differ_so_that_not_all_come_back_at_once() -> None:
    waits: set[float] = set()
    for _ in range(20):
        time = Time()
        time.policy().call(Failing(time, [RetryableError("no")]), gave_up)
        waits.update(time.slept)
    assert len(waits) > 15


def test_another_error_is_final() -> None:
    time = Time()
    ask = Failing(time, [ConfigurationError("the key")])
    with pytest.raises(ConfigurationError, match="the key"):
        time.policy().call(ask, gave_up)
    assert (len(ask.left), time.slept) == (1, [])


@given(st.floats(0, 60))
def test_no_wait_is_shorter_than_asked_for(asked: float) -> None:
    time = Time()
    assert time.policy().call(Failing(time, [RetryableError("busy", asked)]), gave_up) == "done"
    assert time.slept[0] >= max(asked, 1)
    assert time.slept[0] <= max(asked, 1) + 0.25


def test_who_asks_for_more_than_a_minute_is_given_up_at_once() -> None:
    time = Time()
    ask = Failing(time, [RetryableError("busy", 60.5)])
    with pytest.raises(EmbeddingUnavailable) as raised:
        time.policy().call(ask, gave_up)
    assert (raised.value.retry_after_seconds, len(ask.left), time.slept) == (60.5, 1, [])


def test_no_wait_goes_beyond_the_deadline() -> None:
    time = Time(now=100)
    ask = Failing(time, [RetryableError("busy", 4.5)], seconds=0.6)
    with pytest.raises(EmbeddingUnavailable) as raised:
        time.policy().call(ask, gave_up, until=105)
    assert (raised.value.retry_after_seconds, time.slept) == (4.5, [])


def test_each_try_is_told_what_is_left_until_the_deadline() -> None:
    time = Time(now=100)
    ask = Failing(time, [RetryableError("no"), RetryableError("no")], seconds=0.5)
    assert time.policy(jitter=0).call(ask, gave_up, until=105) == "done"
    assert ask.left == [5, 3.5, 1]


def test_the_last_failure_tells_how_long_to_wait() -> None:
    time = Time()
    ask = Failing(time, [RetryableError("a", 1), RetryableError("b", 2), RetryableError("c", 30)])
    with pytest.raises(EmbeddingUnavailable, match="c") as raised:
        time.policy().call(ask, gave_up)
    assert raised.value.retry_after_seconds == 30
    assert raised.value.__cause__ is raised.value.__context__ is None


@pytest.mark.parametrize("status", [408, 409, 425, 429, 499, 500, 502, 503, 504, 520, 529])
def test_these_may_pass(status: int) -> None:
    assert is_retryable(status)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 402, 403, 404, 405, 413, 422, 424, 501, 505])
def test_these_do_not(status: int) -> None:
    assert not is_retryable(status)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("3", 3),
        (" 1.5 ", 1.5),
        ("999999999", 86_400),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        ("Sun, 01 Mar 2026 12:00:05 -0000", 5),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), 86_400),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("1e400", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_without_the_header_nothing_is_asked() -> None:
    assert retry_after({}) is None


@given(st.text())
def test_no_header_breaks_it(value: str) -> None:
    seconds = retry_after({"retry-after": value})
    assert seconds is None or 0 <= seconds <= 86_400
