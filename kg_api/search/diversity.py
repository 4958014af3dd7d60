"""An answer that is not the same thing again and again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def most_of_each(items: Iterable[T], group_of: Callable[[T], str], most: int) -> list[T]:
    """The items in their order, at most so many of each group."""
    seen = Counter[str]()
    kept: list[T] = []
    for item in items:
        seen[group_of(item)] += 1
        if seen[group_of(item)] <= most:
            kept.append(item)
    return kept


def similarities(
    vectors: Sequence[NDArray[np.float32] | None], spaces: Sequence[str | None]
) -> NDArray[np.float64]:
    """Cosine of each pair, shape (n, n); 0 where one has no vector, or theirs are of different models."""
    count = len(vectors)
    near = np.zeros((count, count))
    for space in {each for each in spaces if each is not None}:
        own = [at for at in range(count) if spaces[at] == space and vectors[at] is not None]
        if own:
            rows = np.array([vectors[at] for at in own], dtype=np.float64)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            near[np.ix_(own, own)] = rows @ rows.T
    return near


def marginal_relevance(
    scores: Sequence[float], near: NDArray[np.float64], weight: float, limit: int
) -> list[tuple[int, float]]:
    """Order by maximal marginal relevance: each next one is relevant, and unlike those before it.

    Carbonell, Goldstein: The use of MMR, SIGIR 1998: weight * relevance - (1 - weight) * greatest similarity
    to what was chosen. Relevance is the score brought to 0 to 1 over what is given, so that both sides of the
    difference have one scale.

    Returns:
        Which one (its place in `scores`) and its value, at most `limit` of them.
    """
    relevance = _to_unit(np.asarray(scores, dtype=np.float64))
    closest = np.zeros(len(scores))
    chosen: list[tuple[int, float]] = []
    left = list(range(len(scores)))
    while left and len(chosen) < limit:
        values = weight * relevance[left] - (1 - weight) * closest[left]
        best = left[int(np.argmax(values))]  # of equal ones the one that came first
        chosen.append((best, float(values.max())))
        closest = np.maximum(closest, near[best])
        left.remove(best)
    return chosen


def _to_unit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (scores.min(), scores.max()) if scores.size else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)
