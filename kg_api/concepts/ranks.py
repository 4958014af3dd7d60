"""Reciprocal rank fusion: what stands high in several lists stands high in all. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

RRF_K: Final = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
methods, SIGIR 2009."""


def reciprocal_rank_fusion(lanes: Iterable[Sequence[str]]) -> dict[str, float]:
    """By id, the sum of 1 / (60 + rank) over the lanes that have it, ranks from 1; the best first."""
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for ranked in lanes:
        for rank, identity in enumerate(ranked, start=1):
            parts[identity].append(1 / (RRF_K + rank))
    scores = {identity: fsum(own) for identity, own in parts.items()}
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
