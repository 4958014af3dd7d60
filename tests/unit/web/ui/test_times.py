from __future__ import annotations

import pytest

from kg_api.graph.jobs import speed
from kg_api.web.ui.rendering import pace, time_left

IN_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@pytest.mark.parametrize("seconds", [0.4, 7.0, 90.0, 4000.0, 200_000.0])
@pytest.mark.parametrize(("moved", "left"), [(1, 3), (20, 5), (3, 100), (5000, 12_000)])
def test_remaining_time_follows_the_rate(moved: int, left: int, seconds: float) -> None:
    rate, rest = speed(moved, seconds, left)
    assert rate > 0
    assert rate * rest == pytest.approx(left, rel=0.01, abs=rate * 0.06)
    number, _, unit = pace(rate).replace(",", "").partition(" ")
    told_rate = float(number) / IN_SECONDS[unit.split()[-1]]
    size, unit = time_left(rest).removeprefix("about ").split()
    told_rest = int(size) * IN_SECONDS[unit.removesuffix("s")]
    assert told_rest >= rest * 0.99
    assert told_rest <= max(rest * 1.5 + 1, 1)
    assert told_rate == pytest.approx(rate, rel=0.06)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "about 1 second"), (9.5, "about 10 seconds"), (119, "about 119 seconds"), (150, "about 3 minutes"),
     (7300, "about 3 hours"), (200_000, "about 3 days")],
)  # fmt: skip
def test_time_uses_a_suitable_unit(seconds: float, told: str) -> None:
    assert time_left(seconds) == told
