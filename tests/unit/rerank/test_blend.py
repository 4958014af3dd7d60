"""Blending, whatever the numbers are."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kg_api.providers.rerank import blend

FUSED = st.integers(min_value=-(10**6), max_value=10**6).map(lambda number: number / 1000)
SCORE = st.floats(min_value=0, max_value=1)
PAIRS = st.lists(st.tuples(FUSED, SCORE), min_size=1, max_size=30)


def order(values: list[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda at: -values[at])


@given(PAIRS)
def test_every_value_is_finite(pairs: list[tuple[float, float]]) -> None:
    blended = blend([fused for fused, _ in pairs], [score for _, score in pairs])
    assert len(blended) == len(pairs)
    assert all(math.isfinite(value) for value in blended)


@given(st.lists(FUSED, max_size=30), SCORE)
def test_where_the_reranker_sees_no_difference_the_order_stays(fused: list[float], score: float) -> None:
    fused = sorted(fused, reverse=True)
    assert order(blend(fused, [score] * len(fused))) == list(range(len(fused)))


@given(st.lists(SCORE, max_size=30), FUSED)
def test_where_fusion_sees_no_difference_the_reranker_decides(scores: list[float], fused: float) -> None:
    scores = sorted(scores, reverse=True)
    blended = blend([fused] * len(scores), scores)
    assert blended == sorted(blended, reverse=True)


@given(PAIRS)
def test_who_is_better_in_both_is_never_behind(pairs: list[tuple[float, float]]) -> None:
    blended = blend([fused for fused, _ in pairs], [score for _, score in pairs])
    for one, mine in zip(pairs, blended, strict=True):
        for other, theirs in zip(pairs, blended, strict=True):
            if one[0] >= other[0] and one[1] >= other[1]:
                assert mine >= theirs


@given(PAIRS, st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_scale_of_the_fused_scores_does_not_matter(
    pairs: list[tuple[float, float]], factor: float
) -> None:
    fused, scores = [fused for fused, _ in pairs], [score for _, score in pairs]
    assert order(blend([each * factor for each in fused], scores)) == order(blend(fused, scores))


def test_nothing_is_blended_to_nothing() -> None:
    assert blend([], []) == []
