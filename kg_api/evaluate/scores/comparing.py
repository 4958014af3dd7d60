"""Results side by side, on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from kg_api.errors import InvalidInput
from kg_api.evaluate.scores.measures import main_metrics
from kg_api.evaluate.scores.statistics import SIGNIFICANT, holm, interval, paired_t, randomisation
from kg_api.models.evaluation import Comparison, EvalResult, PairedTest

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class PairDifference:
    """How one result differs from another in a metric, question by question."""

    interval: tuple[float, float]
    wins: int
    ties: int
    losses: int
    p_t: float
    p_randomisation: float


def pair_difference(one: EvalResult, base: EvalResult, metric: str) -> PairDifference:
    """Compare two results of the same questions: the longest part of a comparison."""
    differences = [scores[metric] - base.per_query[query][metric] for query, scores in one.per_query.items()]
    wins, losses = sum(d > _TIE for d in differences), sum(d < -_TIE for d in differences)
    return PairDifference(
        interval=interval(differences),
        wins=wins,
        ties=len(differences) - wins - losses,
        losses=losses,
        p_t=paired_t(differences),
        p_randomisation=randomisation(differences),
    )


Differ = Callable[[EvalResult, EvalResult, str], PairDifference]


def compare(
    results: Sequence[EvalResult],
    metrics: Sequence[str] | None,
    against: str,
    differ: Differ = pair_difference,
) -> Comparison:
    """Compare results with one of them.

    Args:
        results: two or more, of the same data and questions.
        metrics: which; unset: the main ones.
        against: `first`, `best` in the first metric, or a label.
        differ: compares two in a metric, or knows what came of it.

    Raises:
        InvalidInput: they cannot be compared, or a name is unknown.
    """
    by_label = _label(results)
    _require_same(results)
    chosen = _metrics(results, metrics)
    baseline = _baseline(by_label, against, chosen[0])
    return Comparison(
        baseline=baseline,
        data=results[0].data,
        labels=list(by_label),
        metrics={label: each.metrics for label, each in by_label.items()},
        intervals={label: each.intervals for label, each in by_label.items()},
        latency_ms={label: each.latency_ms for label, each in by_label.items()},
        degraded={label: each.degraded for label, each in by_label.items()},
        refused={label: each.refused for label, each in by_label.items()},
        tests=[test for metric in chosen for test in _tests(by_label, baseline, metric, differ)],
    )


def _label(results: Sequence[EvalResult]) -> dict[str, EvalResult]:
    """By label; a label that stands twice gets a number."""
    found: dict[str, EvalResult] = {}
    for each in results:
        label, number = each.label, 1
        while label in found:
            number += 1
            label = f"{each.label} ({number})"
        found[label] = each
    return found


def _require_same(results: Sequence[EvalResult]) -> None:
    if len(results) < 2:  # noqa: PLR2004 - it takes two
        raise InvalidInput("name two results or configurations at least")
    first = results[0]
    for each in results[1:]:
        reasons = {
            "data": (each.data.hash, first.data.hash),
            "questions": (
                (each.data.sample, each.per_query.keys()),
                (first.data.sample, first.per_query.keys()),
            ),
            "target": (each.target, first.target),
        }
        if different := [name for name, (one, other) in reasons.items() if one != other]:
            raise InvalidInput(
                f"{each.label!r} ({each.data.name}) and {first.label!r} ({first.data.name}) cannot be "
                f"compared: they differ in {' and '.join(different)}. Run both on the same "
                "set, tier and target."
            )


def _metrics(results: Sequence[EvalResult], metrics: Sequence[str] | None) -> list[str]:
    shared = [name for name in results[0].metrics if all(name in each.metrics for each in results)]
    if not shared:
        raise InvalidInput("they have no measure in common; ask for as many hits in each run")
    if metrics is None:
        return main_metrics(results[0].target, shared) or shared[:1]
    if unknown := [name for name in metrics if name not in shared]:
        raise InvalidInput(f"not all results have {', '.join(unknown)}; they have {', '.join(shared)}")
    return list(dict.fromkeys(metrics))


def _baseline(results: Mapping[str, EvalResult], against: str, metric: str) -> str:
    if against == "first":
        return next(iter(results))
    if against == "best":
        return max(results, key=lambda label: results[label].metrics[metric])
    if against not in results:
        raise InvalidInput(f"there is no {against!r} to compare with; there are: {', '.join(results)}")
    return against


def _tests(results: Mapping[str, EvalResult], baseline: str, metric: str, differ: Differ) -> list[PairedTest]:
    """Each other one against the baseline, corrected for their number."""
    others = [label for label in results if label != baseline]
    tests = [_test(results, label, baseline, metric, differ) for label in others]
    corrected = holm([test.p_randomisation for test in tests])
    return [
        test.model_copy(update={"p_holm": p, "significant": p < SIGNIFICANT})
        for test, p in zip(tests, corrected, strict=True)
    ]


def _test(
    results: Mapping[str, EvalResult], label: str, baseline: str, metric: str, differ: Differ
) -> PairedTest:
    one, base = results[label], results[baseline]
    return PairedTest(
        metric=metric,
        label=label,
        baseline=baseline,
        mean=one.metrics[metric],
        baseline_mean=base.metrics[metric],
        difference=one.metrics[metric] - base.metrics[metric],
        **asdict(differ(one, base, metric)),
        p_holm=1.0,
        significant=False,
    )
