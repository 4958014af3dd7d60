import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.concepts.search import RRF_K, fuse_by_reciprocal_rank
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import Fusion
from kg_api.search.fusion import BEST, FULL_GAP, MAX_ADDED, FusedScore, LaneScores, fuse

scores = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2), st.floats(0, 1).map(lambda score: round(score, 4)), max_size=20
).map(lambda given: dict(sorted(given.items(), key=lambda item: (-item[1], item[0]))))
GAP = 0.27


def vector(ranked: dict[str, float], **further: float) -> LaneScores:
    return LaneScores("vector:default", ranked, further, SimilarityCalibration(0.38 + GAP, 0.38))


def falling(prefix: str, first: float, rest: float, count: int = BEST) -> dict[str, float]:
    others = {f"{prefix}{n}": rest - n * rest / 1000 for n in range(1, count)}
    return {f"{prefix}0": first, **others}


def order(fused: dict[str, FusedScore]) -> list[str]:
    return list(fused)


def test_the_formula_of_reciprocal_ranks() -> None:
    found = fuse_by_reciprocal_rank([["a", "b"], ["b", "c"]])
    assert found == pytest.approx({"b": 1 / (RRF_K + 2) + 1 / (RRF_K + 1), "a": 1 / 61, "c": 1 / 62})


@given(scores, st.sampled_from(["adaptive", "rrf", "weighted"]))
def test_one_lane_keeps_order_and_scores(lane: dict[str, float], how: Fusion) -> None:
    fused = fuse([LaneScores("text", lane)], how)
    assert {each: one.score for each, one in fused.items()} == lane
    assert order(fused) == list(lane)


@given(scores, scores, st.sampled_from(["adaptive", "rrf", "weighted"]))
def test_every_hit_appears_once_by_score(
    near: dict[str, float], words: dict[str, float], how: Fusion
) -> None:
    fused = fuse([vector(near), LaneScores("text", words)], how)
    values = [each.score for each in fused.values()]
    assert set(fused) >= set(near)
    if how == "rrf" or any(words.values()):
        assert set(fused) == set(near) | set(words)
    assert values == sorted(values, reverse=True)
    for each in fused.values():
        assert each.score == pytest.approx(sum(part.contribution for part in each.parts))


@given(scores, scores)
def test_first_hit_of_both_retrievers_stays_first(near: dict[str, float], words: dict[str, float]) -> None:
    both = fuse([vector({"zz": 1.5, **near}), LaneScores("text", {"zz": 2.0, **words})])
    assert order(both)[0] == "zz"


def test_indistinct_vector_scores_yield_to_keywords() -> None:
    """A model can return this for a language that it does not know."""
    flat, sharp = falling("v", 0.75, 0.72), falling("t", 12.0, 3.0)
    fused = fuse([vector(flat), LaneScores("text", sharp)])
    assert order(fused)[0] == "t0"


def test_indistinct_keyword_scores_yield_to_vectors() -> None:
    """You get this if there are many common words."""
    for flat in (falling("t", 12.0, 11.0), dict.fromkeys(map(str, range(BEST)), 12.0)):
        fused = fuse([vector(falling("v", 0.8, 0.5)), LaneScores("text", flat)])
        assert order(fused)[0] == "v0"


def test_match_of_a_stop_word_yields_to_vectors() -> None:
    """`how do I fix a flat tire` found `dos mensualidades` by its `do`, with a BM25 score of 0.95."""
    fused = fuse([vector(falling("v", 0.7, 0.5)), LaneScores("text", {"do": 0.95})])
    assert order(fused)[0] == "v0"
    assert fused["do"].score == pytest.approx(2 * 0.95)


def test_vector_weight_follows_the_model_gap() -> None:
    small = LaneScores("vector:a", falling("v", 0.60, 0.58), calibration=SimilarityCalibration(0.83, 0.75))
    large = LaneScores("vector:a", falling("v", 0.60, 0.58), calibration=SimilarityCalibration(0.45, 0.05))
    words = LaneScores("text", falling("t", 6.0, 3.0))
    (one,), (two,) = (fuse([lane, words])["v0"].parts for lane in (small, large))
    assert one.weight / two.weight == pytest.approx((0.4 / 0.08) ** 2)
    usual, none = (
        fuse([LaneScores("vector:a", falling("v", 0.60, 0.58), calibration=known), words])["v0"]
        for known in (USUAL, SimilarityCalibration(0.53, 0.5))
    )
    assert usual == none, "a gap that is too small is not used"


def test_best_vector_hit_adds_no_more_than_a_unique_keyword() -> None:
    sharp = LaneScores("vector:a", falling("v", 0.9, 0.2), calibration=SimilarityCalibration(0.25, 0.2))
    fused = fuse([sharp, LaneScores("text", {"t0": 8.0})])
    assert fused["v0"].score == pytest.approx(fused["t0"].score) == pytest.approx(MAX_ADDED)


def test_vector_score_unit_matches_adr_0020() -> None:
    lane = falling("v", 0.7, 0.5)
    above = 0.7 - sum(lane.values()) / BEST
    (part,) = fuse([vector(lane), LaneScores("text", {})])["v0"].parts
    assert part.weight == pytest.approx(above / (FULL_GAP * GAP) ** 2)
    assert fuse([vector({"a": 0.7}), LaneScores("text", {})])["a"].score > 0, "with few hits as well"


def test_fixed_weights_bring_scores_to_one_scale() -> None:
    near, words = {"a": 0.9, "b": 0.7, "c": 0.5}, {"c": 30.0, "b": 20.0, "d": 10.0}
    fused = fuse([vector(near, d=0.1), LaneScores("text", words)], "weighted", vector_weight=0.7)
    found = {each: one.score for each, one in fused.items()}
    assert found == pytest.approx({"a": 0.7, "b": 0.35 + 0.15, "c": 0.3, "d": 0.0})
