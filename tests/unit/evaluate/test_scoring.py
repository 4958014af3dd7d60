import math

import pytest

from kg_api.errors import InvalidInput
from kg_api.evaluation.comparing import (
    compare,
    compute_percentiles,
    compute_randomisation_test,
    correct_p_values,
)
from kg_api.evaluation.scoring import compute_means, score_questions
from kg_api.schemas.evaluation import (
    EvalResult,
    FoundSpan,
    JudgedPassage,
    QuestionResult,
    Reference,
    SetQuery,
)
from tests.support.evaluations import measured


def answer(query: str, *found: FoundSpan) -> QuestionResult:
    return QuestionResult(query_id=query, found=list(found), ms=1.0)


def hits(query: str, *documents: str) -> QuestionResult:
    return answer(query, *(FoundSpan(document=name, start=0, end=5) for name in documents))


def one(relevant: dict[str, int], *documents: str, limit: int = 10) -> dict[str, float]:
    query = SetQuery("q", "?", relevant)
    return score_questions("documents", [query], {"q": hits("q", *documents)}, limit)["q"]


def test_two_relevant_documents_at_ranks_one_and_three() -> None:
    found = one({"a": 1, "b": 1}, "a", "x", "b")
    ideal = 1 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx((1 + 1 / math.log2(4)) / ideal)
    assert found["ndcg@1"] == 1
    assert (found["recall@1"], found["recall@3"]) == (0.5, 1.0)
    assert found["mrr@10"] == found["hit_rate@1"] == 1


def test_graded_relevance_has_linear_gain() -> None:
    found = one({"a": 1, "b": 3}, "a", "b")
    ideal = 3 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx((1 + 3 / math.log2(3)) / ideal)


def test_empty_result_counts_as_zero() -> None:
    queries = [SetQuery("q", "?", {"a": 1}), SetQuery("r", "?", {"a": 1})]
    scored = score_questions("documents", queries, {"q": hits("q"), "r": hits("r", "a")}, 10)
    assert set(scored["q"].values()) == {0.0}
    assert compute_means(scored)["ndcg@10"] == 0.5


SPANS = SetQuery("q", "?", references=(Reference("d", 10, 20), Reference("d", 30, 40)))


def test_spans_by_their_characters() -> None:
    places = (("other", 0, 20), ("d", 0, 15), ("d", 30, 45))
    found = [FoundSpan(document=name, start=start, end=end) for name, start, end in places]
    scored = score_questions("spans", [SPANS], {"q": answer("q", *found)}, 3)["q"]
    assert scored["token_recall@1"] == scored["hit_rate@1"] == 0
    assert scored["mrr@3"] == 0.5
    assert scored["token_recall@3"] == pytest.approx(15 / 20)
    assert scored["token_precision@3"] == pytest.approx(15 / 50)
    assert scored["token_iou@3"] == pytest.approx(15 / (50 + 5))


def test_judged_passages_of_one_document_are_separate() -> None:
    judged = (("a", 0, 10, 0), ("a", 10, 20, 2), ("a", 20, 30, 1), ("b", 0, 10, 0))
    query = SetQuery("q", "text", passages=tuple(JudgedPassage(*each) for each in judged))
    spans = (("a", 0, 5), ("a", 40, 50), ("a", 12, 14), ("a", 15, 25), ("a", 22, 30), ("b", 0, 10))
    found = [FoundSpan(document=name, start=start, end=end) for name, start, end in spans]
    scored = score_questions("passages", [query], {"q": answer("q", *found)}, 5)["q"]
    names = ("hit_rate@1", "mrr@5", "recall@3", "recall@5")
    assert [scored[name] for name in names] == [0, 1 / 3, 0.5, 1]
    best = 2 + 1 / math.log2(3)
    assert scored["ndcg@5"] == pytest.approx((2 / math.log2(4) + 1 / math.log2(5)) / best)


def test_the_randomisation_test_of_four_wins() -> None:
    # of 16 ways to set four signs, all plus and all minus are as far out: 2/16
    assert compute_randomisation_test([0.1, 0.2, 0.3, 0.4]) == pytest.approx(2 / 16)
    assert compute_randomisation_test([0.1, 0.2, 0.3, 0.4, *[0.0] * 50]) == pytest.approx(2 / 16)


def test_holm_by_hand() -> None:
    assert correct_p_values([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_p_values([0.5, 0.9]) == [1.0, 1.0]
    assert correct_p_values([]) == []


def test_result_contains_measures_and_latency() -> None:
    found = measured("text", [1, 2, 0, 4])
    assert found.metrics["mrr@10"] == pytest.approx((1 + 0.5 + 0 + 0.25) / 4)
    assert found.metrics["hit_rate@1"] == 0.25
    low, high = found.intervals["mrr@10"]
    assert low < found.metrics["mrr@10"] < high
    assert found.per_query["q1"]["mrr@10"] == 0.5
    assert found.latency_ms["p50"] == 2.0
    assert found.stages_ms["total"]["p95"] == 1.0
    assert found.degraded == {}


def test_one_is_plainly_better() -> None:
    found = compare([measured("text", [3] * 12), measured("hybrid", [1] * 11 + [4])], ["mrr@10"], "first")
    (test,) = found.tests
    assert (found.baseline, test.label, test.wins, test.ties, test.losses) == ("text", "hybrid", 11, 0, 1)
    assert test.difference == pytest.approx((11 + 0.25) / 12 - 1 / 3)
    assert test.interval[0] > 0
    assert test.significant
    assert test.p_holm == test.p_randomisation < 0.05


def test_baseline_is_the_best_or_a_named_result() -> None:
    results = [measured("a", [2]), measured("b", [1]), measured("b", [3])]
    assert compare(results, None, "best").baseline == "b"
    assert compare(results, None, "b (2)").baseline == "b (2)"
    with pytest.raises(InvalidInput, match="result 'c' not found"):
        compare(results, None, "c")
    with pytest.raises(InvalidInput, match="two results"):
        compare(results[:1], None, "first")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (measured("b", [1, 1], data="other"), "differ in data"),
        (measured("b", [1]), "differ in questions"),
        (measured("b", [1, 1], target="spans"), "differ in target"),
    ],
)
def test_incomparable_results_are_rejected(other: EvalResult, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        compare([measured("a", [1, 1]), other], None, "first")


def test_percentiles() -> None:
    expected = {"p50": 51.0, "p95": 96.0, "p99": 100.0, "mean": 51.0, "max": 101.0}
    assert compute_percentiles([float(n) for n in range(1, 102)]) == expected
