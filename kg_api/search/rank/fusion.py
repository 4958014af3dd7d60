"""Fusing the lists of several lanes; what comes through concepts is joined in order.py. Pure.

`adaptive` is kg's own; ADR 0020 has the measurements. Both others are what the field uses: reciprocal rank
fusion, and fixed weights over scores brought to one scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kg_api.concepts.ranks import RRF_K
from kg_api.models.embedding.spaces import USUAL, SimilarityCalibration
from kg_api.models.vocabulary import Fusion
from kg_api.search.retrieve.hits import LaneContribution

BEST = 50
"""So many of a lane's best tell its shape, however many were fetched."""
FULL_GAP = 0.53
"""At this share of the model's own gap the vectors' best hit weighs as much as a word lane's whose best score
is twice its mean. Measured on bge-small, checked on two other models (ADR 0020)."""
MIN_GAP = 0.04
"""A model that tells even less apart was not asked in a language it knows: its gap says nothing."""
MAX_ADDED = BEST / math.sqrt(BEST - 1)
"""What the best hit of a lane adds at most: as much as the only passage with a word of the question."""
FEW = 5
"""A lane of fewer hits has no shape: unrelated texts stand for those that it lacks."""


@dataclass(frozen=True, slots=True)
class LaneScores:
    name: str
    ranked: Mapping[str, float]
    """Scores by id, the best first."""
    further: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of what only other lanes found, where the score is known all the same."""
    calibration: SimilarityCalibration | None = None
    """Only of vectors: what the model's cosines mean."""


class FusedScore(NamedTuple):
    """A fused score and what it is made of."""

    score: float
    parts: tuple[LaneContribution, ...]


def fuse(
    lanes: Sequence[LaneScores], how: Fusion = "adaptive", *, rrf_k: int = RRF_K, vector_weight: float = 0.7
) -> dict[str, FusedScore]:
    """Join lanes; one alone keeps its order and scores.

    Returns:
        By id, the best first; equal scores in the order of the ids, so that answers do not flicker.
    """
    if len(lanes) == 1:
        return dict(_join([_parts(lanes[0], weight=1, least=0)]))
    match how:
        case "rrf":
            given = [_by_rank(lane, rrf_k) for lane in lanes]
        case "weighted":
            given = [_by_fixed_weight(lane, vector_weight) for lane in lanes]
        case "adaptive":
            given = [_by_shape(lane) for lane in lanes]
    return dict(sorted(_join(given), key=lambda item: (-item[1].score, item[0])))


Parts = dict[str, LaneContribution]


def _join(given: Sequence[Parts]) -> Iterator[tuple[str, FusedScore]]:
    for identity in dict.fromkeys(identity for parts in given for identity in parts):
        own = tuple(parts[identity] for parts in given if identity in parts)
        yield identity, FusedScore(math.fsum(part.contribution for part in own), own)


def _parts(lane: LaneScores, *, weight: float, least: float) -> Parts:
    """Weight times score, above the least that counts."""
    ranks = {identity: rank for rank, identity in enumerate(lane.ranked, start=1)}
    scores = {**lane.ranked, **{each: score for each, score in lane.further.items() if each not in ranks}}
    return {
        identity: LaneContribution(lane.name, ranks.get(identity), score, weight, weight * (score - least))
        for identity, score in scores.items()
    }


def _by_rank(lane: LaneScores, k: int) -> Parts:
    ranked = enumerate(lane.ranked.items(), start=1)
    return {
        identity: LaneContribution(lane.name, rank, score, 1, 1 / (k + rank))
        for rank, (identity, score) in ranked
    }


def _by_fixed_weight(lane: LaneScores, vector_weight: float) -> Parts:
    """Scores from 0 to 1 over the lane's best, times a share: min-max normalisation."""
    best = _best(lane)
    if not best:
        return {}
    span = best[0] - best[-1]
    share = 1 - vector_weight if lane.calibration is None else vector_weight
    given = _parts(lane, weight=share, least=best[-1]).items()
    return {
        identity: part._replace(contribution=share * _place(part.score, best[-1], span))
        for identity, part in given
    }


def _place(score: float, least: float, span: float) -> float:
    """Where a score lies between the least and the best, from 0 to 1."""
    return min(max((score - least) / span, 0), 1) if span > 0 else float(score >= least)


def _by_shape(lane: LaneScores) -> Parts:
    """A lane weighs as much as its best hits stand out from the rest of what it found."""
    best = _best(lane)
    if not best:
        return {}
    return (
        _words_by_shape(lane, best)
        if lane.calibration is None
        else _vectors_by_shape(lane, best, lane.calibration)
    )


def _vectors_by_shape(lane: LaneScores, best: Sequence[float], calibration: SimilarityCalibration) -> Parts:
    """Weight = how far the best stands above the mean, in units of what the model's gap makes of it.

    A model asked in a language that it never learned finds everything equally near: the distance is small,
    and its square, which is what the best hit gets, is smaller still.
    """
    known = calibration if calibration.gap >= MIN_GAP else USUAL
    shape = [*best, *[min(known.unrelated, best[-1])] * (FEW - len(best))]
    weight = max(0.0, best[0] - float(np.mean(shape))) / (FULL_GAP * known.gap) ** 2
    span = best[0] - shape[-1]
    return _parts(lane, weight=min(weight, MAX_ADDED / span) if span > 0 else 0, least=shape[-1])


def _words_by_shape(lane: LaneScores, best: Sequence[float]) -> Parts:
    """Scores in units of the lane's mean, divided by the root of how far the best one stands above it.

    What few words found stands out: where fewer than 50 were found the rest count as 0. Many common words
    give everything about the same score, and so little weight.
    """
    mean = math.fsum(best) / BEST
    if mean <= 0:
        return {}
    excess = max((best[0] - mean) / mean, 1e-9)
    least = best[-1] * (len(best) - 1) / (BEST - 1)  # the fewer were found, the more it says to be among them
    return _parts(lane, weight=1 / (mean * math.sqrt(excess)), least=least)


def _best(lane: LaneScores) -> list[float]:
    return list(lane.ranked.values())[:BEST]
