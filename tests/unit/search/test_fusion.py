from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.search.fusion import RRF_K, reciprocal_rank_fusion

IDS = st.lists(st.sampled_from("abcdefghij"), unique=True)
LANES = st.dictionaries(st.sampled_from(["vector", "text", "concepts"]), IDS)


def test_the_published_example() -> None:
    scores = reciprocal_rank_fusion({"one": ["a", "b"], "two": ["b", "c"]})
    assert scores == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    assert [*scores] == ["b", "a", "c"]


@given(LANES, st.integers(1, 100))
def test_each_score_is_the_sum_over_the_lanes(lanes: dict[str, list[str]], k: int) -> None:
    scores = reciprocal_rank_fusion(lanes, k)
    assert scores.keys() == {identity for lane in lanes.values() for identity in lane}
    for identity, score in scores.items():
        expected = sum(1 / (k + lane.index(identity) + 1) for lane in lanes.values() if identity in lane)
        assert score == pytest.approx(expected)


@given(LANES)
def test_the_best_is_first_and_equals_are_in_order_of_their_ids(lanes: dict[str, list[str]]) -> None:
    ranked = [*reciprocal_rank_fusion(lanes).items()]
    assert ranked == sorted(ranked, key=lambda item: (-item[1], item[0]))


@given(IDS)
def test_one_lane_keeps_its_order(lane: list[str]) -> None:
    assert [*reciprocal_rank_fusion({"text": lane})] == lane


@given(IDS, IDS)
def test_the_order_of_the_lanes_does_not_count(one: list[str], two: list[str]) -> None:
    assert reciprocal_rank_fusion({"a": one, "b": two}) == pytest.approx(
        reciprocal_rank_fusion({"b": two, "a": one})
    )


def test_first_in_both_beats_first_in_one() -> None:
    best, *_ = reciprocal_rank_fusion({"a": ["x", "y"], "b": ["y", "x", "z"], "c": ["y"]})
    assert (best, RRF_K) == ("y", 60)
