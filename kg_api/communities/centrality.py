"""What a community is about: the concepts that are most its own, and a name of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from kg_api.communities.association import Floats, Matrix, Places
from kg_api.models.identity import concept_name

NAMED: Final = 3
"""Concepts in a name."""


def centrality(weights: Matrix, members: Places) -> Floats:
    """How much each member is the community's own: the weight of its edges within, by their share of all.

    A concept that is everywhere has heavy edges, but few of them within.

    Args:
        weights: nodes by nodes, CSR, symmetric.
        members: nodes of the community.

    Returns:
        One for each member, at least 0; the highest is 1, unless no edge is within.
    """
    within, every = _strengths(weights, members)
    found = np.divide(within**2, every, out=np.zeros_like(within), where=every > 0)
    return found / max(float(found.max(initial=0.0)), 1e-12)


def share_inside(weights: Matrix, members: Places) -> float:
    """Of the weight of all edges of a community's members, the share between members."""
    within, every = _strengths(weights, members)
    return float(within.sum() / max(float(every.sum()), 1e-12))


def _strengths(weights: Matrix, members: Places) -> tuple[Floats, Floats]:
    """Of each member the weight of its edges to other members, and of all its edges."""
    rows = weights[members]
    within, every = (np.asarray(each.sum(axis=1), dtype=np.float64) for each in (rows[:, members], rows))
    return within.ravel(), every.ravel()


def name_of(labels: Iterable[str]) -> str:
    """A name of the first labels, without those that say what another one says: "wheel", "variant wheels"."""
    chosen: list[str] = []
    for label in labels:
        if not any(_repeats(label, each) for each in chosen):
            chosen.append(label)
        if len(chosen) == NAMED:
            break
    return ", ".join(chosen)


def _repeats(label: str, other: str) -> bool:
    one, two = _words(label), _words(other)
    return one <= two or two <= one


def _words(label: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in _split(label))


def _split(label: str) -> Sequence[str]:
    return concept_name(label).replace("-", " ").split()
