from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import InvalidInput, Unavailable
from kg_api.evaluation import comparing, saved
from kg_api.evaluation.saved import SavedResults
from tests.support.evaluations import measured, save

COMPARE: Any = comparing.compare


@pytest.fixture
def results(tmp_path: Path) -> SavedResults:
    for label, ranks in (("a", [3, 1, 0]), ("b", [1, 1, 2]), ("c", [2, 2, 2])):
        save(tmp_path, label, measured(label, ranks))
    return SavedResults(tmp_path)


def test_baseline_is_chosen(results: SavedResults) -> None:
    first = results.compare(["a", "b", "c"], "first")
    assert len(first.tests) == 2 * 4
    other = results.compare(["a", "c", "b"], "a")
    assert {(each.label, each.metric) for each in other.tests} == {
        (each.label, each.metric) for each in first.tests
    }
    assert other.results == {"a": "a", "c": "c", "b": "b"}


def test_comparisons_do_not_block_one_another(results: SavedResults, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(*each: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return COMPARE(*each)

    monkeypatch.setattr(comparing, "compare", slow)
    first = threading.Thread(target=results.compare, args=(["a", "b"], "first"))
    first.start()
    assert begun.wait(20)
    with pytest.raises(Unavailable, match="Try again in a few seconds"):
        results.compare(["a", "c"], "first")
    go_on.set()
    first.join()
    assert results.compare(["a", "c"], "first").baseline == "a"


def test_too_many_scores_are_rejected_before_reading(
    results: SavedResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "MAX_COMPARED_QUESTIONS", 3 * 2)
    assert results.compare(["a", "b"], "first").tests
    monkeypatch.setattr(SavedResults, "_read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InvalidInput, match=r"3 questions of 3 results .* `kg eval compare`"):
        results.compare(["a", "b", "c"], "first")
