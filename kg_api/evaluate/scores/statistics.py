"""How sure a mean is, and whether two configurations differ, by scipy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

RESAMPLES = 2000
"""Of the bootstrap."""
RANDOMISATIONS = 9999
SEED = 20_260_101
SIGNIFICANT = 0.05
_TOGETHER = 500
"""Resamples at once, at most."""
_BYTES_TOGETHER = 32_000_000
"""Of resamples at once, so that memory stays small however many questions there are."""
_BYTES_A_VALUE = 64
"""Of one value of a resample: the numbers drawn for it, and what is made of them."""
_SAME = 1e-12


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % bootstrap interval (percentile) of a mean; the mean itself where nothing varies."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2 or np.ptp(sample) < _SAME:  # noqa: PLR2004 - one value has no spread
        return float(sample[0]), float(sample[0])
    found: Any = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=_together(len(sample)),
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _together(values: int) -> int:
    return max(1, min(_TOGETHER, _BYTES_TOGETHER // (values * _BYTES_A_VALUE)))


def paired_t(differences: Sequence[float]) -> float:
    """Two-sided p of the paired t-test; 1 where nothing differs."""
    sample = np.asarray(differences, dtype=np.float64)
    if not np.any(np.abs(sample) > _SAME):
        return 1.0
    if len(sample) < 2 or np.ptp(sample) < _SAME:  # noqa: PLR2004 - one value has no spread
        return 0.0 if len(sample) > 1 else 1.0
    found: Any = stats.ttest_1samp(sample, 0.0)
    return float(found.pvalue)


def randomisation(differences: Sequence[float]) -> float:
    """Two-sided p of the paired randomisation test: how often random signs give as large a mean."""
    sample = np.asarray(differences, dtype=np.float64)
    sample = sample[np.abs(sample) > _SAME]  # a tie stays a tie, whatever its sign
    if len(sample) < 2:  # noqa: PLR2004 - one sign says nothing
        return 1.0
    found: Any = stats.permutation_test(
        (sample,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RANDOMISATIONS,
        batch=_together(len(sample)),
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p for having tried several times: Holm's step-down, in the order given."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - rank)))
        corrected[at] = highest
    return corrected


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99, with the mean and the longest."""
    sample = np.asarray(milliseconds, dtype=np.float64)
    told = {f"p{percent}": float(np.percentile(sample, percent)) for percent in (50, 95, 99)}
    told |= {"mean": float(sample.mean()), "max": float(sample.max())}
    return {name: round(value, 2) for name, value in told.items()}
