"""Scores of rerankers: on one scale, and blended into a fused order. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

WEIGHT = 0.5
"""How much the cross-encoder's evidence counts beside the place; benchmarks/rerank_blend.py, ADR 0017."""
_CERTAIN = 1e-12


def blend(fused: Sequence[float], scores: Sequence[float]) -> list[float]:
    """Join the fused order of hits with what a reranker says of them.

    The place is taken for prior odds of 1 to its number, the score for evidence: their logarithms add up.
    Where the reranker sees no difference the order stays; where it is sure, a hit moves over many places.
    Only the order of the fused scores matters, not their scale.

    Args:
        fused: fused scores of the hits that were read, higher is better; equal ones share a place.
        scores: the reranker's, from 0 to 1, in the same order.

    Returns:
        Scores to order the hits by, higher is better; finite, mostly negative.
    """
    ascending = sorted(-score for score in fused)
    places = [bisect_left(ascending, -score) + 1 for score in fused]
    return [WEIGHT * _log_odds(score) - math.log(place) for place, score in zip(places, scores, strict=True)]


def _log_odds(score: float) -> float:
    sure = min(max(score, _CERTAIN), 1 - _CERTAIN)
    return math.log(sure / (1 - sure))


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
