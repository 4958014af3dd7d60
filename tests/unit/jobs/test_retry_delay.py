"""How long a job waits after a stumble (G14)."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kg_api.jobs.runner import LONGEST_DELAY_SECONDS, SMALLEST_DELAY_SECONDS, retry_delay

STUMBLES = st.integers(min_value=0, max_value=10**4)
JITTER = st.floats(min_value=0, max_value=1)


def test_it_doubles() -> None:
    assert [retry_delay(stumbles, 0) for stumbles in range(5)] == [1, 2, 4, 8, 16]


@given(STUMBLES, JITTER)
def test_it_stays_between_the_first_and_the_longest(stumbles: int, jitter: float) -> None:
    delay = retry_delay(stumbles, jitter)
    assert SMALLEST_DELAY_SECONDS <= delay <= LONGEST_DELAY_SECONDS
    assert math.isfinite(delay)


@given(STUMBLES, JITTER)
def test_it_never_falls_with_more_stumbles(stumbles: int, jitter: float) -> None:
    assert retry_delay(stumbles, jitter) <= retry_delay(stumbles + 1, jitter)


@given(STUMBLES, JITTER)
def test_jitter_adds_a_quarter_at_most(stumbles: int, jitter: float) -> None:
    base, delay = retry_delay(stumbles, 0), retry_delay(stumbles, jitter)
    assert base <= delay <= base * 1.25


@given(st.integers(min_value=0, max_value=7), JITTER, JITTER)
def test_jitter_spreads(stumbles: int, one: float, other: float) -> None:
    assert (retry_delay(stumbles, one) < retry_delay(stumbles, other)) == (1 + one / 4 < 1 + other / 4)
