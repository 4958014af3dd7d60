"""Fusing the lists of several lanes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RRF_K = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
methods, SIGIR 2009."""


def reciprocal_rank_fusion(lanes: Mapping[str, Sequence[str]], k: int = RRF_K) -> dict[str, float]:
    """Score each id by the sum of 1 / (k + rank) over the lanes that have it, ranks from 1.

    Returns:
        Scores by id, the best first; equal scores in the order of the ids, so that answers do not flicker.
    """
    scores: dict[str, float] = {}
    for ranked in lanes.values():
        for rank, identity in enumerate(ranked, start=1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (k + rank)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
