from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import RerankUnavailable
from kg_api.providers.remote_rerank import best_of, in_order, windows
from kg_api.providers.rerank import as_relevance, relevance

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, max_size=20), st.randoms(use_true_random=False))
def test_any_order_is_put_right(scores: list[float], dice: Any) -> None:
    items: list[tuple[object, object]] = list(enumerate(scores))
    dice.shuffle(items)
    assert in_order(items, len(scores)) == scores


@pytest.mark.parametrize("index", [True, 1.0, "1", None, 2, -1, 0])
def test_an_index_is_that_of_a_text_and_there_once(index: object) -> None:
    with pytest.raises(RerankUnavailable, match="index"):
        in_order([(0, 0.1), (index, 0.2)], 2)


@pytest.mark.parametrize("score", [True, None, "0.5", float("nan"), float("-inf"), [0.5]])
def test_a_score_is_a_finite_number(score: object) -> None:
    with pytest.raises(RerankUnavailable, match="finite"):
        in_order([(0, score)], 1)


@given(FINITE)
def test_relevance_is_between_0_and_1_for_any_output(logit: float) -> None:
    assert 0 <= relevance(logit) <= 1
    assert relevance(logit) == pytest.approx(1 - relevance(-logit))


@given(st.lists(FINITE, min_size=2))
def test_a_scale_never_turns_an_order_round(scores: list[float]) -> None:
    scaled = as_relevance(scores)
    pairs = sorted(zip(scores, scaled, strict=True))
    assert all(one[1] <= other[1] for one, other in pairwise(pairs))
    assert all(0 <= each <= 1 for each in scaled)


@given(st.lists(st.floats(min_value=0, max_value=1)))
def test_what_is_on_the_scale_stays_as_it_is(scores: list[float]) -> None:
    assert as_relevance(scores) == scores


@given(st.text(max_size=3000), st.integers(min_value=1, max_value=500))
def test_windows_leave_nothing_out(text: str, most: int) -> None:
    cut = windows(text, most)
    assert all(len(window) <= most for window in cut)
    step = max(1, most - most // 8)
    assert all(text.startswith(window, at * step) for at, window in enumerate(cut))
    assert (len(cut) - 1) * step + len(cut[-1]) == len(text)
    assert all(window for window in cut[1:])


def test_a_text_that_fits_is_its_only_window() -> None:
    assert windows("", 10) == [""]
    assert windows("0123456789", 10) == ["0123456789"]
    assert windows("0123456789a", 10) == ["0123456789", "9a"]


def test_the_best_window_counts() -> None:
    assert best_of([0.1, 0.9, 0.2, 0.3], [1, 2, 1]) == [0.1, 0.9, 0.3]
    assert best_of([], []) == []


def test_a_missing_index_is_zero() -> None:
    assert in_order([(1, 0.1), (None, 0.2)], 2) == [0.2, 0.1]
    assert in_order([(None, 0.3)], 1) == [0.3]
    with pytest.raises(RerankUnavailable, match="index"):
        in_order([(None, 0.1), (None, 0.2)], 2)
