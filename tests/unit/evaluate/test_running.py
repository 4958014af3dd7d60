from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg_api.errors import InvalidInput
from kg_api.evaluation.results import Run, save_result
from kg_api.schemas.evaluation import EvalResult, QuestionSet, SetDocument, SetQuery
from tests.support.evaluations import answered

QUERY = SetQuery("q", "What?", {"a": 1})


def run(name: str, folder: Path) -> tuple[EvalResult, Path]:
    questions = QuestionSet(name, (SetDocument("a", "x"),), (QUERY,), (), "c", "d")
    wanted = Run("text", "documents", questions, [QUERY], 10, {"tier": "full"}, {})
    return save_result(wanted, {"q": answered(QUERY, 1)}, datetime.now(tz=UTC), folder)


@pytest.mark.parametrize("name", ["猫" * 80, "é" * 99, "a" + "𝔸" * 60, "x" * 400])
def test_long_names_in_any_script_fit(tmp_path: Path, name: str) -> None:
    made, path = run(name, tmp_path)
    assert made.data.name == name
    assert path.is_file()
    assert len(path.name.encode()) < 140


def test_unwritable_results_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written: "):
        run("bees", tmp_path / ("x" * 300))
