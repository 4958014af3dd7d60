"""Scores of any model on one scale. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence


def relevance(logit: float) -> float:
    """A model's plain output as a number from 0 to 1, of any size without overflow."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    small = math.exp(logit)
    return small / (1 + small)


def as_relevance(scores: Sequence[float]) -> list[float]:
    """The scores of one reply from 0 to 1; most servers give that, some the model's plain outputs."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [relevance(score) for score in scores]
