"""Confidence intervals, significance tests (scipy), and comparison of results on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kg_api.errors import InvalidInput
from kg_api.evaluation.scores import list_main_metrics, report_missing_library
from kg_api.schemas.evaluation import Comparison, EvalResult, PairedTest

try:
    from scipy import stats
except ImportError as error:
    raise report_missing_library(error) from None

RESAMPLES = 2000  # bootstrap samples
RANDOMISATIONS = 9999
SEED = 20_260_101
SIGNIFICANT = 0.05
_TOGETHER = 500  # maximum of resamples per batch
_BYTES_TOGETHER = 32_000_000  # maximum memory of a batch, independent of the number of questions
_BYTES_A_VALUE = 64  # memory per value of a resample: random numbers and results
_SAME = 1e-12


def compute_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval (percentile) of a mean, or the mean itself without variance."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2 or np.ptp(sample) < _SAME:  # noqa: PLR2004 - one value has no spread
        return float(sample[0]), float(sample[0])
    found: Any = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=_count_together(len(sample)),
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _count_together(values: int) -> int:
    return max(1, min(_TOGETHER, _BYTES_TOGETHER // (values * _BYTES_A_VALUE)))


def compute_randomisation_test(differences: Sequence[float]) -> float:
    """Compute the two-sided p of the paired randomisation test, which flips signs at random."""
    sample = np.asarray(differences, dtype=np.float64)
    sample = sample[np.abs(sample) > _SAME]  # ties do not depend on the sign
    if len(sample) < 2:  # noqa: PLR2004 - one sign says nothing
        return 1.0
    found: Any = stats.permutation_test(
        (sample,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RANDOMISATIONS,
        batch=_count_together(len(sample)),
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def correct_p_values(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests (Holm's step-down), in the given order."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - rank)))
        corrected[at] = highest
    return corrected


def compute_percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    sample = np.asarray(milliseconds, dtype=np.float64)
    percentiles = {f"p{percent}": float(np.percentile(sample, percent)) for percent in (50, 95, 99)}
    percentiles |= {"mean": float(sample.mean()), "max": float(sample.max())}
    return {name: round(value, 2) for name, value in percentiles.items()}


# Comparison of results

_TIE = 1e-9


def compare(results: Sequence[EvalResult], metrics: Sequence[str] | None, against: str) -> Comparison:
    _require_same(results)
    by_label: dict[str, EvalResult] = {}
    for each in results:
        label, number = each.label, 1
        while label in by_label:  # duplicate labels get a number
            number += 1
            label = f"{each.label} ({number})"
        by_label[label] = each
    chosen = _choose_metrics(results, metrics)
    if against == "first":
        baseline = next(iter(by_label))
    elif against == "best":
        baseline = max(by_label, key=lambda label: by_label[label].metrics[chosen[0]])
    elif against in by_label:
        baseline = against
    else:
        raise InvalidInput(f"result {against!r} not found. Compare with one of: {', '.join(by_label)}")
    tests = list[PairedTest]()
    for metric in chosen:
        made = [_test_metric(by_label, label, baseline, metric) for label in by_label if label != baseline]
        corrected = correct_p_values([test.p_randomisation for test in made])
        tests += [
            test.model_copy(update={"p_holm": p, "significant": p < SIGNIFICANT})
            for test, p in zip(made, corrected, strict=True)
        ]
    return Comparison(
        baseline=baseline,
        data=results[0].data,
        labels=list(by_label),
        metrics={label: each.metrics for label, each in by_label.items()},
        intervals={label: each.intervals for label, each in by_label.items()},
        latency_ms={label: each.latency_ms for label, each in by_label.items()},
        degraded={label: each.degraded for label, each in by_label.items()},
        tests=tests,
    )


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


def _choose_metrics(results: Sequence[EvalResult], metrics: Sequence[str] | None) -> list[str]:
    shared = [name for name in results[0].metrics if all(name in each.metrics for each in results)]
    if not shared:
        raise InvalidInput("the results have no common measure. Request the same number of hits in each run")
    if metrics is None:
        return list_main_metrics(results[0].target, shared) or shared[:1]
    if unknown := [name for name in metrics if name not in shared]:
        raise InvalidInput(f"not all results have {', '.join(unknown)}. All have {', '.join(shared)}")
    return list(dict.fromkeys(metrics))


def _test_metric(results: Mapping[str, EvalResult], label: str, baseline: str, metric: str) -> PairedTest:
    """Compare two results by question, the slowest part of a comparison."""
    one, base = results[label], results[baseline]
    differences = [scores[metric] - base.per_query[query][metric] for query, scores in one.per_query.items()]
    wins, losses = sum(d > _TIE for d in differences), sum(d < -_TIE for d in differences)
    return PairedTest(
        metric=metric,
        label=label,
        baseline=baseline,
        mean=one.metrics[metric],
        baseline_mean=base.metrics[metric],
        difference=one.metrics[metric] - base.metrics[metric],
        interval=compute_interval(differences),
        wins=wins,
        ties=len(differences) - wins - losses,
        losses=losses,
        p_randomisation=compute_randomisation_test(differences),
        p_holm=1.0,
        significant=False,
    )
