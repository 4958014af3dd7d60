import subprocess
import sys
from pathlib import Path

import pytest

from kg_api.errors import Forbidden, InvalidInput, NotFound
from kg_api.evaluation import saved
from kg_api.evaluation.comparing import compare
from kg_api.evaluation.saved import SavedResults, sort_worst_first
from kg_api.graph.reach import limit_visible_ontologies
from tests.support.evaluations import measured, save


@pytest.fixture
def results(tmp_path: Path) -> SavedResults:
    save(tmp_path, "text", measured("text", [3, 1, 0], ontology="bees"))
    save(tmp_path, "hybrid", measured("hybrid", [1, 1, 2], ontology="bees"), after=2)
    save(tmp_path, "owls", measured("text", [1], data="owls", ontology="owls"), after=1)
    return SavedResults(tmp_path)


def names(results: SavedResults, ontology: str | None = None, **part: int) -> list[str]:
    found = results.list_results(ontology, part.get("offset", 0), part.get("limit", 50))
    return [each.name for each in found.evaluations]


def test_the_newest_come_first_page_by_page(results: SavedResults) -> None:
    assert names(results) == ["hybrid", "owls", "text"]
    assert names(results, offset=1, limit=1) == ["owls"]
    assert names(results, "bees") == ["hybrid", "text"]
    first = results.list_results(None, 0, 1).evaluations[0]
    assert (first.label, first.question_set, first.ontology) == ("hybrid", "set", "bees")
    assert first.asked == 3
    assert list(first.metrics) == ["ndcg@10", "recall@10", "mrr@10", "hit_rate@1"] == list(first.intervals)
    assert first.latency_ms["p95"] == 2.0


def test_invalid_result_files_are_listed_others_ignored(results: SavedResults, tmp_path: Path) -> None:
    save(tmp_path, "newer", measured("a", [1], format=2))
    (tmp_path / "other form.json").write_text('{"format": 3}')
    (tmp_path / "cut.json").write_text((tmp_path / "text.json").read_text()[:500])
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    made = measured("a", [1])
    save(tmp_path, "lacking", made.model_copy(update={"per_query": {"q0": {}}}))
    both = compare([made, made], None, "first").model_dump_json()
    (tmp_path / "2026-set-comparison.json").write_text(both)
    (tmp_path / "folder.json").mkdir()
    found = results.list_results(None, 0, 50)
    assert len(found.evaluations) == 3
    reasons = {each.name: each.reason for each in found.unreadable}
    assert list(reasons) == ["bytes", "cut", "lacking", "newer", "other form"]
    assert (
        reasons["newer"] == reasons["other form"] == "was written by a newer kg. Compare it with that version"
    )
    assert reasons["cut"].startswith("is not a result of `kg eval run`: ")
    assert str(tmp_path) not in str(reasons)
    with pytest.raises(InvalidInput, match="newer was written by a newer kg"):
        results.find("newer")
    with limit_visible_ontologies(["bees"]):
        assert results.list_results(None, 0, 50).unreadable == [], "whose they are nobody knows"
        with pytest.raises(NotFound):
            results.find("newer")
    with pytest.raises(NotFound):
        results.find("2026-set-comparison")


def test_limited_key_sees_only_results_of_its_ontologies(results: SavedResults, tmp_path: Path) -> None:
    save(tmp_path, "old", measured("text", [1]))
    assert "old" in names(results)
    with limit_visible_ontologies(["bees"]):
        assert names(results) == ["hybrid", "text"]
        assert results.find("text").label == "text"
        for name in ("owls", "old", "nowhere"):
            with pytest.raises(NotFound, match=f"result '{name}' not found"):
                results.find(name)
        with pytest.raises(NotFound):
            results.compare(["text", "owls"], "first")
        with pytest.raises(Forbidden):
            results.list_results("owls", 0, 50)


@pytest.mark.parametrize(
    "name", ["../secret", "..", ".", "", "/etc/passwd", "link", "a/b", "text.json", "\ud800"]
)
def test_names_do_not_leave_the_folder(results: SavedResults, tmp_path: Path, name: str) -> None:
    outside = save(tmp_path.parent, "secret", measured("a", [1]))
    (tmp_path / "link.json").symlink_to(outside)
    with pytest.raises(NotFound):
        results.find(name)
    assert "link" not in names(results)
    assert outside.is_file()
    assert len(list(tmp_path.iterdir())) == 4


def test_invisible_result_is_not_named(results: SavedResults) -> None:
    with limit_visible_ontologies(["bees"]):
        for name, hint in (("owl", ""), ("owls", ""), ("hybrd", r" \(did you mean 'hybrid'\?\)")):
            with pytest.raises(NotFound, match=rf"result '{name}' not found{hint}\. See the list"):
                results.find(name)
        assert results.find("hybrid").config["ontology"] == "bees"


def test_large_comparisons_and_files_are_rejected(
    results: SavedResults, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(saved, "MAX_COMPARED_QUESTIONS", 5)
    with pytest.raises(InvalidInput, match="3 questions of 2 results are too many"):
        results.compare(["text", "hybrid"], "first")
    monkeypatch.setattr(saved, "MAX_BYTES", 10)
    (unreadable, *_) = SavedResults(tmp_path).list_results(None, 0, 50).unreadable
    assert unreadable.reason == "has more than 10 bytes"


def test_comparison_reads_changed_results(results: SavedResults, tmp_path: Path) -> None:
    made = results.compare(["text", "hybrid"], "first")
    assert made.results == {"text": "text", "hybrid": "hybrid"}
    assert results.compare(["text", "hybrid"], "best").baseline == "hybrid"
    save(tmp_path, "text", measured("words", [1, 1, 1], ontology="bees"))
    assert results.compare(["text", "hybrid"], "first").baseline == "words"
    with pytest.raises(InvalidInput, match="they differ in data"):
        results.compare(["text", "owls"], "first")


def test_the_worst_questions_come_first() -> None:
    found = measured("text", [3, 1, 0])
    assert [each.query_id for each in sort_worst_first(found, "mrr@10")] == ["q2", "q0", "q1"]
    assert sort_worst_first(found, "mrr@10")[0].text == "What is 2?"
    slow = found.model_copy(update={"query_ms": {"q0": 5.0, "q1": 9.0}, "questions": {}})
    assert [(each.query_id, each.text, each.ms) for each in sort_worst_first(slow, "ms")] == [
        ("q1", None, 9.0), ("q0", None, 5.0), ("q2", None, None),
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match=r"unknown measure 'colour'. Choose one of: ndcg@1"):
        sort_worst_first(found, "colour")


def test_reading_and_comparing_need_no_evaluation_packages() -> None:
    hidden = "import sys; sys.modules['ir_measures'] = None; "
    needed = "import kg_api.web.app, kg_api.evaluation.scores, kg_api.evaluation.saved"
    subprocess.run([sys.executable, "-c", hidden + needed], check=True)
