"""Asking every question once: answers are kept as they come, so that an interrupted run can go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kg_api.errors import InvalidInput
from kg_api.models.evaluation import QuestionResult, SetQuery

Searcher = Callable[[SetQuery], QuestionResult]
"""Asks the service one question."""


class AnswerFile:
    """Answers on disk, one a line; the first line names the run that they belong to."""

    def __init__(self, path: Path, key: str) -> None:
        """Read what is there. Answers of another run, and a line that was cut by a kill, are dropped.

        Args:
            path: the file; its folder is there.
            key: names the run.

        Raises:
            InvalidInput: it cannot be read or written.
        """
        self.path = path
        self.answers: dict[str, QuestionResult] = {}
        with _readable(path):
            for asked in _read_kept(path, key):
                self.answers[asked.query_id] = asked
            lines = [json.dumps({"key": key}), *(each.model_dump_json() for each in self.answers.values())]
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add(self, asked: QuestionResult) -> None:
        """Keep an answer.

        Raises:
            InvalidInput: it cannot be written.
        """
        self.answers[asked.query_id] = asked
        with _readable(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(asked.model_dump_json() + "\n")


def ask_all(
    queries: Sequence[SetQuery], search: Searcher, kept: AnswerFile, tell: Callable[[], None]
) -> Mapping[str, QuestionResult]:
    """Ask what has no answer yet.

    Args:
        queries: all questions of the run.
        search: asks one.
        kept: where answers are, and go.
        tell: called after each answer.
    """
    due = [query for query in queries if query.query_id not in kept.answers]
    if due:
        search(due[0])  # the first request of a connection is slower: it is not measured
    for query in due:
        kept.add(search(query))
        tell()
    return {query.query_id: kept.answers[query.query_id] for query in queries}


@contextmanager
def _readable(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"the answers in {path} cannot be kept: {error.strerror}") from error


def _read_kept(path: Path, key: str) -> list[QuestionResult]:
    """Answers of the same run; those that lacked a part are asked for again."""
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")
    header: Any = _json(lines[0])
    if not isinstance(header, dict) or header != {"key": key}:
        return []
    found = list[QuestionResult]()
    for line in lines[1:-1]:  # behind the last line end is nothing, or what a kill has cut
        try:
            found.append(QuestionResult.model_validate_json(line))
        except ValidationError:
            continue
    return [asked for asked in found if not asked.degraded]


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
