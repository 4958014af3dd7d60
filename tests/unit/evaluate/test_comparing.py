"""Results side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import InvalidInput
from kg_api.evaluation.comparing import compare
from kg_api.evaluation.saved import read_result
from kg_api.schemas.evaluation import Comparison, EvalResult
from tests.support.evaluations import measured


def test_a_result_holds_what_was_measured() -> None:
    found = measured("text", [1, 2, 0, 4])
    assert found.metrics["mrr@10"] == pytest.approx((1 + 0.5 + 0 + 0.25) / 4)
    assert found.metrics["hit_rate@1"] == 0.25
    low, high = found.intervals["mrr@10"]
    assert low < found.metrics["mrr@10"] < high
    assert found.per_query["q1"]["mrr@10"] == 0.5
    assert found.latency_ms["p50"] == 2.0
    assert found.stages_ms["total"]["p95"] == 1.0
    assert found.degraded == {}


def test_the_key_tells_runs_apart() -> None:
    assert measured("text", [1]).key == measured("text", [2]).key, "it is known before the answers"
    assert (
        len({measured("text", [1]).key, measured("hybrid", [1]).key, measured("text", [1], data="e").key})
        == 3
    )


def test_one_is_plainly_better() -> None:
    found = compare([measured("text", [3] * 12), measured("hybrid", [1] * 11 + [4])], ["mrr@10"], "first")
    (test,) = found.tests
    assert (found.baseline, test.label, test.wins, test.ties, test.losses) == ("text", "hybrid", 11, 0, 1)
    assert test.difference == pytest.approx((11 + 0.25) / 12 - 1 / 3)
    assert test.interval[0] > 0
    assert test.significant
    assert test.p_holm == test.p_randomisation < 0.05


def test_the_same_is_no_difference() -> None:
    (test, *_) = compare([measured("a", [1, 2]), measured("b", [1, 2])], None, "first").tests
    assert (test.difference, test.p_t, test.p_randomisation, test.ties) == (0, 1, 1, 2)
    assert not test.significant


def test_several_are_corrected_for_their_number() -> None:
    better = [1] * 6
    results = [measured("text", [2] * 6), measured("a", better), measured("b", better)]
    tests = compare(results, ["mrr@10"], "first").tests
    assert [test.p_randomisation for test in tests] == pytest.approx([2 / 64] * 2)
    assert [test.p_holm for test in tests] == pytest.approx([4 / 64] * 2)
    assert not any(test.significant for test in tests)


def test_the_baseline_may_be_the_best_or_a_name() -> None:
    results = [measured("a", [2]), measured("b", [1]), measured("b", [3])]
    assert compare(results, None, "best").baseline == "b"
    assert compare(results, None, "b (2)").baseline == "b (2)"
    with pytest.raises(InvalidInput, match="there is no 'c' to compare with"):
        compare(results, None, "c")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (measured("b", [1, 1], data="other"), "differ in data"),
        (measured("b", [1]), "differ in questions"),
        (measured("b", [1, 1], target="spans"), "differ in target"),
    ],
)
def test_what_is_not_comparable_is_refused(other: EvalResult, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        compare([measured("a", [1, 1]), other], None, "first")


def test_one_alone_cannot_be_compared() -> None:
    with pytest.raises(InvalidInput, match="two results"):
        compare([measured("a", [1])], None, "first")


def test_an_unknown_measure() -> None:
    with pytest.raises(InvalidInput, match="not all results have map@7"):
        compare([measured("a", [1]), measured("b", [1])], ["map@7"], "first")


def test_results_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    made = measured("a", [1, 2])
    path.write_text(made.model_dump_json())
    assert read_result(path) == made
    path.write_text('{"metrics": {}}')
    with pytest.raises(InvalidInput, match="is not a result of `kg eval run`"):
        read_result(path)
    path.write_text(made.model_copy(update={"format": 99}).model_dump_json())
    with pytest.raises(InvalidInput, match="newer kg"):
        read_result(path)


def test_what_was_not_answered_is_told_and_what_is_older_says_nothing() -> None:
    found = compare([measured("a", [1]), measured("b", [1], refused={"nothing_found": 1})], None, "first")
    assert found.refused == {"a": {}, "b": {"nothing_found": 1}}
    older = found.model_dump_json(exclude={"refused"})
    assert Comparison.model_validate_json(older).refused == {}
