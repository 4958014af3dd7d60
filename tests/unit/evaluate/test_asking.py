"""An interrupted run goes on where it stopped, and never mixes runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.evaluation.run import AnswerFile, ask_all
from kg_api.schemas.evaluation import FoundSpan, QuestionResult, SetQuery

QUERIES = [SetQuery(f"q{n}", f"question {n}") for n in range(5)]


class Service:
    """Answers, until it is told to fail."""

    def __init__(self, fails_at: int | None = None, degraded: str | None = None) -> None:
        self.asked: list[str] = []
        self.fails_at = fails_at
        self.degraded = degraded

    def __call__(self, query: SetQuery) -> QuestionResult:
        if self.fails_at is not None and len(self.asked) >= self.fails_at:
            raise KeyboardInterrupt
        self.asked.append(query.query_id)
        found = [FoundSpan(document=query.query_id, start=0, end=1)]
        parts = [self.degraded] if self.degraded else []
        return QuestionResult(query_id=query.query_id, found=found, ms=1.0, degraded=parts)


def nothing() -> None:
    """Tell nobody."""


def test_all_are_asked_and_the_first_once_more_before_it_is_measured(tmp_path: Path) -> None:
    service = Service()
    answers = ask_all(QUERIES, service, AnswerFile(tmp_path / "a.jsonl", "key"), nothing)
    assert list(answers) == [query.query_id for query in QUERIES]
    assert service.asked == ["q0", "q0", "q1", "q2", "q3", "q4"]


def test_after_an_interruption_only_the_rest_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(KeyboardInterrupt):
        ask_all(QUERIES, Service(fails_at=4), AnswerFile(path, "key"), nothing)
    service = Service()
    told: list[int] = []
    answers = ask_all(QUERIES, service, AnswerFile(path, "key"), lambda: told.append(1))
    assert service.asked == ["q3", "q3", "q4"]
    assert len(answers) == 5
    assert len(told) == 2


def test_a_line_that_was_cut_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    ask_all(QUERIES, Service(), AnswerFile(path, "key"), nothing)
    path.write_bytes(path.read_bytes()[:-10])
    kept = AnswerFile(path, "key")
    assert sorted(kept.answers) == ["q0", "q1", "q2", "q3"]
    ask_all(QUERIES, Service(), kept, nothing)
    assert sorted(AnswerFile(path, "key").answers) == ["q0", "q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("content", [b"", b"\n", b"not json\n", b'{"key": "other"}\n{}\n', b"\xff\xfe\n"])
def test_answers_of_another_run_are_dropped(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert AnswerFile(path, "key").answers == {}


def test_answers_that_lacked_a_part_are_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    ask_all(QUERIES, Service(degraded="rerank"), AnswerFile(path, "key"), nothing)
    assert AnswerFile(path, "key").answers == {}
