"""Results, made from answers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kg_api.evaluate.scores.scoring import means, per_query
from kg_api.evaluate.scores.statistics import interval, percentiles
from kg_api.evaluate.sets.sample import sample_hash
from kg_api.models.evaluation import EvalData, EvalResult, QuestionResult, QuestionSet, SetQuery
from kg_api.models.vocabulary import Target

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked, of what, and how: everything that a run is but its answers."""

    label: str
    target: Target
    questions: QuestionSet
    queries: Sequence[SetQuery]
    """The sample that is asked."""
    limit: int
    config: Mapping[str, Any]
    kg: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Hash of all that decides over the answers."""
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
    return EvalResult(
        key=run.key,
        label=run.label,
        target=run.target,
        metrics=_round(means(scored)),
        intervals=_intervals(scored),
        latency_ms=percentiles([each.ms for each in answers.values()]),
        stages_ms={name: percentiles(stages[name]) for name in sorted(stages)},
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


def _intervals(scored: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    names = list(next(iter(scored.values())))
    found = {name: interval([each[name] for each in scored.values()]) for name in names}
    return {name: (round(low, _DIGITS), round(high, _DIGITS)) for name, (low, high) in found.items()}


def _round(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in values.items()}
