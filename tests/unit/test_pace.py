"""Several threads at a provider that says how much it takes."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from kg_api.providers.http import LOOK_SECONDS, Pace
from tests.unit.test_retrying import Time


class Provider:
    """A pace with a clock of its own."""

    def __init__(self, most: int = 8) -> None:
        self.time = Time()
        self.pace = Pace(most, 1.0, sleep=self.time.sleep, clock=self.time.clock)

    def refuse(self, **headers: str) -> None:
        self.pace.hear(10, 429, {name.replace("_", "-"): value for name, value in headers.items()})

    def tell(self, **headers: str) -> None:
        self.pace.hear(10, 200, {name.replace("_", "-"): value for name, value in headers.items()})

    def answered(self, times: int) -> None:
        for _ in range(times):
            with self.pace.turn():
                self.tell()

    def waited(self) -> float:
        """Seconds until the next request may begin."""
        before = self.time.now
        with self.pace.turn():
            return self.time.now - before


def test_without_a_word_of_the_provider_nothing_waits() -> None:
    provider = Provider(most=1)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(provider.pace.turn())
    assert provider.time.slept == []


@pytest.mark.parametrize(("asked", "seconds"), [("7", 7), (None, 1), ("0", 0), ("61", 0)])
def test_after_a_refusal_nothing_begins_for_as_long_as_was_asked(asked: str | None, seconds: float) -> None:
    """A provider that asks for more than a minute is given up: the job waits."""
    provider = Provider()
    provider.refuse(**({} if asked is None else {"retry_after": asked}))
    assert provider.waited() == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("status", "asked", "refuses"),
    [(503, "2", True), (503, None, False), (400, "2", False), (200, "2", False)],
)
def test_what_counts_as_a_refusal(status: int, asked: str | None, refuses: bool) -> None:
    provider = Provider()
    provider.pace.hear(10, status, {} if asked is None else {"retry-after": asked})
    assert (provider.pace.bound is not None) == refuses


def test_half_as_many_after_a_refusal_and_step_by_step_more() -> None:
    provider = Provider()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(provider.pace.turn())
        for _ in range(5):
            provider.refuse(retry_after="2")
        assert provider.pace.bound == 4, "refused at once is refused once"
    provider.time.now += 2
    provider.answered(4)
    assert provider.pace.bound == pytest.approx(4.9, abs=0.1)
    provider.answered(40)
    assert provider.pace.bound is None, "as before"


def test_no_more_than_the_bound_ask_at_once() -> None:
    provider = Provider()
    with provider.pace.turn(), provider.pace.turn():
        provider.refuse(retry_after="0")
    assert provider.pace.bound == 1
    with provider.pace.turn():
        assert provider.pace._begin() == LOOK_SECONDS
    assert provider.pace._begin() == 0


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({"limit_requests": "100", "remaining_requests": "50", "reset_requests": "30s"}, 0.0),
        ({"limit_requests": "100", "remaining_requests": "0", "reset_requests": "50s"}, 0.5),
        ({"limit_requests": "60", "remaining_requests": "0", "reset_requests": "1m0s"}, 1.0),
        ({"limit_tokens": "1000", "remaining_tokens": "0", "reset_tokens": "6s"}, 0.06),
        ({"limit_tokens": "1000", "remaining_tokens": "5", "reset_tokens": "995ms"}, 0.005),
        ({"limit_tokens": "5", "remaining_tokens": "0", "reset_tokens": "6s"}, 6.0),
        ({"limit_requests": "100", "remaining_requests": "0", "reset_requests": "soon"}, 0.0),
        ({"limit_requests": "0", "remaining_requests": "0", "reset_requests": "1s"}, 0.0),
        ({"remaining_requests": "0", "reset_requests": "1s"}, 0.0),
        ({"limit_requests": "x", "remaining_requests": "-1", "reset_requests": "1s"}, 0.0),
    ],
)
def test_limits_that_are_told_are_kept(limits: dict[str, str], seconds: float) -> None:
    """By how much comes back in which time: 100 in 50 s is one in half a second."""
    provider = Provider()
    with provider.pace.turn():
        provider.tell(**{f"x_ratelimit_{name}": value for name, value in limits.items()})
    assert provider.waited() == pytest.approx(seconds)
    assert provider.pace.bound is None
