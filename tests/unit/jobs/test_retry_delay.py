"""How long a job waits after a failure (G14)."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kg_api.jobs.runner import MAX_DELAY_SECONDS, MIN_DELAY_SECONDS, retry_delay

STUMBLES = st.integers(min_value=0, max_value=10**4)
JITTER = st.floats(min_value=0, max_value=1)


def test_it_doubles() -> None:
    assert [retry_delay(failures, 0) for failures in range(5)] == [1, 2, 4, 8, 16]


@given(STUMBLES, JITTER)
def test_it_stays_between_the_first_and_the_longest(failures: int, jitter: float) -> None:
    delay = retry_delay(failures, jitter)
    assert MIN_DELAY_SECONDS <= delay <= MAX_DELAY_SECONDS
    assert math.isfinite(delay)


@given(STUMBLES, JITTER)
def test_it_never_falls_with_more_failures(failures: int, jitter: float) -> None:
    assert retry_delay(failures, jitter) <= retry_delay(failures + 1, jitter)


@given(STUMBLES, JITTER)
def test_jitter_adds_a_quarter_at_most(failures: int, jitter: float) -> None:
    base, delay = retry_delay(failures, 0), retry_delay(failures, jitter)
    assert base <= delay <= base * 1.25


@given(st.integers(min_value=0, max_value=7), JITTER, JITTER)
def test_jitter_spreads(failures: int, one: float, other: float) -> None:
    assert (retry_delay(failures, one) < retry_delay(failures, other)) == (1 + one / 4 < 1 + other / 4)
