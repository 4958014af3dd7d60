"""Results of answers, and runs that can resume after an interruption."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from kg_api.errors import Conflict, InvalidInput
from kg_api.evaluation.comparing import compute_percentiles, interval
from kg_api.evaluation.run import AnswerFile, describe_machine
from kg_api.evaluation.scoring import means, per_query
from kg_api.evaluation.sets import sample_hash
from kg_api.local import processes
from kg_api.schemas.evaluation import EvalData, EvalResult, QuestionResult, QuestionSet, SetQuery
from kg_api.schemas.vocabulary import Target

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Run:
    """Questions and configuration of a run, without its answers."""

    label: str
    target: Target
    questions: QuestionSet
    queries: Sequence[SetQuery]  # sample of the questions
    limit: int
    config: Mapping[str, Any]
    kg: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Hash of everything that determines the answers."""
        code = [self.kg.get("version"), self.kg.get("code")]
        told = [self.target, self.data.hash, self.data.sample, self.limit, self.config, code]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def data(self) -> EvalData:
        return EvalData(
            name=self.questions.name,
            hash=self.questions.data_hash,
            documents=len(self.questions.documents),
            queries=len(self.questions.queries),
            asked=len(self.queries),
            sample=sample_hash(self.queries),
            notes=list(self.questions.notes),
        )


def result(
    run: Run,
    answers: Mapping[str, QuestionResult],
    started: datetime,
    finished: datetime,
    machine: Mapping[str, Any],
) -> EvalResult:
    scored = per_query(run.target, run.queries, answers, run.limit)
    stages: dict[str, list[float]] = {}
    for each in answers.values():
        for name, milliseconds in each.timings_ms.items():
            stages.setdefault(name, []).append(milliseconds)
    intervals: dict[str, tuple[float, float]] = {}
    for name in next(iter(scored.values())):
        low, high = interval([each[name] for each in scored.values()])
        intervals[name] = round(low, _DIGITS), round(high, _DIGITS)
    return EvalResult(
        key=run.key,
        label=run.label,
        target=run.target,
        metrics=_round(means(scored)),
        intervals=intervals,
        latency_ms=compute_percentiles([each.ms for each in answers.values()]),
        stages_ms={name: compute_percentiles(stages[name]) for name in sorted(stages)},
        degraded=dict(Counter(part for each in answers.values() for part in set(each.degraded))),
        refused=dict(Counter(each.refusal for each in answers.values() if each.refusal)),
        config=dict(run.config),
        data=run.data,
        kg=dict(run.kg),
        machine=dict(machine),
        started_at=started,
        finished_at=finished,
        seconds=round(sum(each.ms for each in answers.values()) / 1000, 3),
        per_query={query: _round(scores) for query, scores in scored.items()},
        query_ms={name: round(each.ms, 3) for name, each in answers.items()},
        questions={query.query_id: query.text for query in run.queries},
    )


def _round(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in values.items()}


# Run: ask, score, save

_KEY_DIGITS = 8
_MAX_STEM_BYTES = 100  # length of a name, because file systems limit file names to 255 bytes


def measure(
    run: Run,
    ask: Callable[[AnswerFile], Mapping[str, QuestionResult]],
    folder: Path,
    output: Path | None = None,
) -> tuple[EvalResult, Path]:
    """Run the questions and save the result with its answers to `output` or to a new file in `folder`.

    `ask` asks the questions without an answer, and stores the answers.
    """
    started = datetime.now(tz=UTC)
    words = re.sub(r"[^\w.=]+", "-", f"{run.data.name}-{run.config['tier']}-{run.label}").strip("-")
    words = words.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
    stem = f"{words}-{run.key[:_KEY_DIGITS]}"
    partial_file = folder / f"{stem}.partial.jsonl"
    lock = FileLock(f"{partial_file}.lock", timeout=0)  # two processes must not write the same answers
    try:
        lock.acquire()
    except Timeout:
        raise Conflict("the same run is in progress in another process. Wait for it, or stop it") from None
    except OSError as error:
        raise InvalidInput(f"{partial_file} cannot be written: {error.strerror}") from error
    try:
        answers = ask(AnswerFile(partial_file, run.key))
        finished = datetime.now(tz=UTC)
        made = result(run, answers, started, finished, describe_machine())
        path = output or _choose_free_path(folder, f"{finished:%Y%m%dT%H%M%SZ}-{stem}")
        try:
            processes.make_folder(path.absolute().parent)
            processes.write_text(path, made.model_dump_json(indent=1) + "\n")
            shutil.move(partial_file, path.with_suffix(".answers.jsonl"))  # --output may be on another disk
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written: {error.strerror}. The answers are kept") from error
    finally:
        lock.release()
        Path(lock.lock_file).unlink(missing_ok=True)
    return made, path


def _choose_free_path(folder: Path, name: str) -> Path:
    """Return a new path. The same run may finish twice within a second."""
    number, path = 1, folder / f"{name}.json"
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    return path
