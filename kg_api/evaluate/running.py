"""One run: what is asked is asked, scored and saved; one that was interrupted goes on where it stopped."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from kg_api.errors import Conflict, InvalidInput
from kg_api.evaluate.asking import AnswerFile
from kg_api.evaluate.identity import describe_machine
from kg_api.evaluate.results import Run, result
from kg_api.managed import files
from kg_api.models.evaluation import EvalResult, QuestionResult

_PARTIAL = ".partial.jsonl"
_KEY_DIGITS = 8
_MAX_STEM_BYTES = 100
"""Of a name's words: file systems count bytes, and what stands before and behind needs some of 255."""


def measure(
    run: Run,
    ask: Callable[[AnswerFile], Mapping[str, QuestionResult]],
    folder: Path,
    output: Path | None = None,
    kept_seconds: float | None = None,
) -> tuple[EvalResult, Path]:
    """Measure, and save the result with its answers.

    Args:
        run: what is asked.
        ask: asks all that has no answer yet, and keeps it.
        folder: of results; it is there.
        output: the result's file; unset: one in the folder.
        kept_seconds: so long answers of runs like it that stopped count; unset: until they are used.

    Raises:
        Conflict: another process is at the same run.
        InvalidInput: it cannot be written; the answers are kept.
    """
    started = datetime.now(tz=UTC)
    partial_file = folder / f"{_stem(run)}{_PARTIAL}"
    if kept_seconds is not None:
        _drop_old(folder, f"{_words(run)}-{'?' * _KEY_DIGITS}{_PARTIAL}", kept_seconds)
    with _alone(partial_file):
        answers = ask(AnswerFile(partial_file, run.key))
        finished = datetime.now(tz=UTC)
        made = result(run, answers, started, finished, describe_machine())
        path = output or _free(folder, f"{finished:%Y%m%dT%H%M%SZ}-{_stem(run)}")
        _save(made, path, partial_file)
    return made, path


def make_results_folder(folder: Path) -> None:
    """Make it where it is not there.

    Raises:
        InvalidInput: that cannot be.
    """
    try:
        files.make_folder(folder)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be used for results: {error.strerror}") from error


def _save(made: EvalResult, path: Path, answers: Path) -> None:
    """The result and its answers, under one name."""
    try:
        files.make_folder(path.absolute().parent)
        files.write_text(path, made.model_dump_json(indent=1) + "\n")
        shutil.move(answers, path.with_suffix(".answers.jsonl"))  # --output may be on another disk
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}; the answers are kept") from error


def _drop_old(folder: Path, pattern: str, seconds: float) -> None:
    """Answers that nobody came back for: what they were asked of may be another by now."""
    try:
        for path in folder.glob(pattern):
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be used for results: {error.strerror}") from error


def _stem(run: Run) -> str:
    return f"{_words(run)}-{run.key[:_KEY_DIGITS]}"


def _words(run: Run) -> str:
    words = re.sub(r"[^\w.=]+", "-", f"{run.data.name}-{run.config['tier']}-{run.label}").strip("-")
    return words.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")


def _free(folder: Path, name: str) -> Path:
    """A file that is not there: the same run may be done twice within a second."""
    number, path = 1, folder / f"{name}.json"
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    return path


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Hold a run, so that two processes do not write the same answers."""
    lock = FileLock(f"{path}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise Conflict("the same run is under way in another process; wait for it, or end it") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
        Path(lock.lock_file).unlink(missing_ok=True)
