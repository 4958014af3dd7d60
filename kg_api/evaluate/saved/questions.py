"""The questions of results, with what each scored; the ones to look at first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kg_api.errors import InvalidInput
from kg_api.models.evaluation import EvalResult

LATENCY: Final = "ms"
"""What to order by besides the measures."""


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    query_id: str
    text: str | None
    """None: the result is of an older kg, which did not save it."""
    scores: Mapping[str, float]
    ms: float | None


@dataclass(frozen=True, slots=True)
class ComparedQuestion:
    """A question of several results."""

    query_id: str
    text: str | None
    scores: Mapping[str, float]
    """In one measure, by label."""
    differences: Mapping[str, float]
    """From the baseline, by the labels of the others."""

    @property
    def largest(self) -> float:
        """The largest difference, whichever way."""
        return max(map(abs, self.differences.values()), default=0.0)


def worst_first(result: EvalResult, by: str) -> list[ScoredQuestion]:
    """The questions of a result, those with the lowest score in a measure first; by `ms` the slowest first.

    Raises:
        InvalidInput: there is no such measure.
    """
    if by != LATENCY and by not in result.metrics:
        raise InvalidInput(f"there is no measure {by[:100]!r}; there are: {', '.join(result.metrics)}")
    found = [
        ScoredQuestion(name, result.questions.get(name), scores, result.query_ms.get(name))
        for name, scores in result.per_query.items()
    ]
    if by == LATENCY:
        return sorted(found, key=lambda each: (-(each.ms or 0.0), each.query_id))
    return sorted(found, key=lambda each: (each.scores.get(by, 0.0), each.query_id))


def largest_differences(
    results: Mapping[str, EvalResult], baseline: str, metric: str
) -> list[ComparedQuestion]:
    """The questions of several results, those that differ most from the baseline first.

    Args:
        results: by label; of the same questions.
        baseline: one of the labels.
        metric: a measure that all have.
    """
    texts: dict[str, str] = {}
    for each in results.values():
        texts |= each.questions
    found = [_compared(name, texts.get(name), results, baseline, metric) for name in _shared(results)]
    return sorted(found, key=lambda each: (-each.largest, each.query_id))


def _shared(results: Mapping[str, EvalResult]) -> list[str]:
    first, *others = results.values()
    return [name for name in first.per_query if all(name in each.per_query for each in others)]


def _compared(
    name: str, text: str | None, results: Mapping[str, EvalResult], baseline: str, metric: str
) -> ComparedQuestion:
    scores = {label: each.per_query[name].get(metric, 0.0) for label, each in results.items()}
    differences = {label: score - scores[baseline] for label, score in scores.items() if label != baseline}
    return ComparedQuestion(name, text, scores, differences)
