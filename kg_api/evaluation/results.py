"""Results of answers, as saved files."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kg_api.errors import InvalidInput
from kg_api.evaluation.comparing import compute_interval, compute_percentiles
from kg_api.evaluation.run import describe_machine
from kg_api.evaluation.scoring import compute_means, score_questions
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
        parts = [self.target, self.data.hash, self.data.sample, self.limit, self.config, code]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

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


def build_result(
    run: Run,
    answers: Mapping[str, QuestionResult],
    started: datetime,
    finished: datetime,
    machine: Mapping[str, Any],
) -> EvalResult:
    scored = score_questions(run.target, run.queries, answers, run.limit)
    stages: dict[str, list[float]] = {}
    for each in answers.values():
        for name, milliseconds in each.timings_ms.items():
            stages.setdefault(name, []).append(milliseconds)
    intervals: dict[str, tuple[float, float]] = {}
    for name in next(iter(scored.values())):
        low, high = compute_interval([each[name] for each in scored.values()])
        intervals[name] = round(low, _DIGITS), round(high, _DIGITS)
    return EvalResult(
        key=run.key,
        label=run.label,
        target=run.target,
        metrics=_round(compute_means(scored)),
        intervals=intervals,
        latency_ms=compute_percentiles([each.ms for each in answers.values()]),
        stages_ms={name: compute_percentiles(stages[name]) for name in sorted(stages)},
        degraded=dict(Counter(part for each in answers.values() for part in set(each.degraded))),
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


# Saving a result

_KEY_DIGITS = 8
_MAX_STEM_BYTES = 100  # length of a name, because file systems limit file names to 255 bytes


def save_result(
    run: Run,
    answers: Mapping[str, QuestionResult],
    started: datetime,
    folder: Path,
    output: Path | None = None,
) -> tuple[EvalResult, Path]:
    """Score the answers and write the result to `output` or to a new file in `folder`."""
    words = re.sub(r"[^\w.=]+", "-", f"{run.data.name}-{run.config['tier']}-{run.label}").strip("-")
    words = words.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
    finished = datetime.now(tz=UTC)
    made = build_result(run, answers, started, finished, describe_machine())
    name = f"{finished:%Y%m%dT%H%M%SZ}-{words}-{run.key[:_KEY_DIGITS]}"
    number, path = 1, output or folder / f"{name}.json"
    try:
        processes.make_folder(path.absolute().parent)
        while output is None and path.exists():  # the same run may finish twice within a second
            number += 1
            path = folder / f"{name}-{number}.json"
        processes.write_text(path, made.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    return made, path
