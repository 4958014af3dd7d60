"""Intervals and paired tests."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.evaluation import comparing
from kg_api.evaluation.comparing import holm, interval, paired_t, percentiles, randomisation

VALUES = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=1, max_size=30)


def test_a_mean_without_spread_has_no_interval() -> None:
    assert interval([0.5, 0.5, 0.5]) == (0.5, 0.5)
    assert interval([0.25]) == (0.25, 0.25)


@given(VALUES)
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    low, high = interval(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert low - 1e-9 <= sum(values) / len(values) <= high + 1e-9 or len(set(values)) > 1


def test_the_randomisation_test_of_four_wins() -> None:
    # of 16 ways to set four signs, all plus and all minus are as far out: 2/16
    assert randomisation([0.1, 0.2, 0.3, 0.4]) == pytest.approx(2 / 16)
    assert randomisation([0.1, 0.2, 0.3, 0.4, *[0.0] * 50]) == pytest.approx(2 / 16)


def test_one_difference_says_nothing() -> None:
    assert randomisation([0.7]) == 1


def test_nothing_differs() -> None:
    assert randomisation([0.0] * 5) == paired_t([0.0] * 5) == 1


def test_the_t_test_by_hand() -> None:
    # mean 2, deviation 1, n 3: t = 2 / (1 / sqrt 3) = 3.4641, p of two degrees of freedom = 0.0742
    assert paired_t([1.0, 2.0, 3.0]) == pytest.approx(0.0742, abs=1e-4)


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 2)), min_size=1, max_size=15))
def test_the_direction_does_not_matter(differences: list[float]) -> None:
    other = [-each for each in differences]
    assert 0 < randomisation(differences) <= 1
    assert paired_t(differences) == pytest.approx(paired_t(other))
    assert randomisation(differences) == pytest.approx(randomisation(other), abs=0.03)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    assert [corrected[at] for at in order] == sorted(corrected)


def test_percentiles() -> None:
    assert percentiles([float(n) for n in range(1, 102)]) == {
        "p50": 51.0,
        "p95": 96.0,
        "p99": 100.0,
        "mean": 51.0,
        "max": 101.0,
    }


def test_memory_does_not_grow_with_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is of resamples that are drawn together: a few more than those show it as well as thousands."""
    for name in ("RESAMPLES", "RANDOMISATIONS"):
        monkeypatch.setattr(comparing, name, 600)
    many = [((n * 7919) % 1000 - 480) / 1000 for n in range(6000)]
    tracemalloc.start()
    try:
        assert 0 < randomisation(many) <= 1
        assert interval(many)[0] < interval(many)[1]
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
