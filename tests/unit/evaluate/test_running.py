"""Files of a run: names that fit, and none that is written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import InvalidInput
from kg_api.evaluation.results import Run, measure
from kg_api.evaluation.run import AnswerFile, ask_all
from kg_api.schemas.evaluation import EvalResult, QuestionSet, SetDocument, SetQuery
from tests.support.evaluations import answered

QUERY = SetQuery("q", "What?", {"a": 1})


def run(name: str, folder: Path) -> tuple[EvalResult, Path]:
    questions = QuestionSet(name, (SetDocument("a", "x"),), (QUERY,), (), "c", "d")
    wanted = Run("text", "documents", questions, [QUERY], 10, {"tier": "full"}, {})
    return measure(
        wanted, lambda kept: ask_all([QUERY], lambda each: answered(each, 1), kept, lambda: None), folder
    )


@pytest.mark.parametrize("name", ["猫" * 80, "é" * 99, "a" + "𝔸" * 60, "x" * 400])
def test_long_names_in_any_script_fit(tmp_path: Path, name: str) -> None:
    made, path = run(name, tmp_path)
    assert made.data.name == name
    assert path.is_file()
    assert path.with_suffix(".answers.jsonl").is_file()
    assert len(path.name.encode()) < 140


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written: "):
        run("bees", tmp_path / ("x" * 300))
    folder = tmp_path / "answers"
    folder.mkdir()
    with pytest.raises(InvalidInput, match="cannot be kept: Is a directory"):
        AnswerFile(folder, "key")
    kept = AnswerFile(tmp_path / "there", "key")
    kept.path.unlink()
    kept.path.mkdir()
    with pytest.raises(InvalidInput, match="cannot be kept"):
        kept.add(answered(QUERY, 1))
