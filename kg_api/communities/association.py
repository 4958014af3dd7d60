"""How strongly concepts belong together, by the passages that carry both. Pure."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

Matrix = Any
"""A sparse matrix of scipy, which has no types: rows by columns are said where one is taken or given."""
Floats = NDArray[np.float64]
Places = NDArray[np.int64]
"""Nodes of a graph, by their rows."""

NEIGHBOURS: Final = 20
"""Of each concept so many others are kept, the strongest: what bounds memory, and keeps hubs apart."""
BLOCK: Final = 500
"""Concepts whose pairs are counted at once."""


def associate(incidence: Matrix) -> Matrix:
    """Weigh the pairs of concepts by the log-likelihood ratio of their co-occurrence.

    Args:
        incidence: passages by concepts, CSR, 1 where a passage carries a concept.

    Returns:
        Concepts by concepts, CSR, symmetric, without a diagonal; a pair that is together no more often than
        chance has it has no weight.
    """
    from scipy import sparse  # noqa: PLC0415 - 25 MB that only the job needs

    passages, concepts = incidence.shape
    if not concepts:
        return sparse.csr_array((0, 0))
    carried: Floats = np.asarray(incidence.sum(axis=0), dtype=np.float64).ravel()
    by_concept = incidence.T.tocsr()
    blocks = [
        _strongest(by_concept[start : start + BLOCK] @ incidence, start, carried, passages)
        for start in range(0, concepts, BLOCK)
    ]
    kept = cast("Matrix", sparse.vstack(blocks, format="csr"))
    weights: Matrix = kept.maximum(kept.T).tocsr()
    weights.sort_indices()
    return weights


def log_likelihood_ratio(both: Floats, one: Floats, other: Floats, passages: float) -> Floats:
    """Twice the log of how much likelier counts are if two concepts depend on each other.

    Dunning: Accurate Methods for the Statistics of Surprise and Coincidence, Computational Linguistics 1993.
    Zero where they are together no more often than by chance. All arrays have the same shape.

    Args:
        both: passages that carry both.
        one: passages that carry the first.
        other: passages that carry the second.
        passages: all.
    """
    neither = passages - one - other + both
    cells = (both, one - both, other - both, neither)
    margins = (one, other, passages - one, passages - other)
    whole = passages * np.log(passages) if passages else 0.0
    ratio = 2 * (sum(map(_entropy, cells)) - sum(map(_entropy, margins)) + whole)
    return np.where(both * passages > one * other, np.maximum(ratio, 0.0), 0.0)


def _entropy(counts: Floats) -> Floats:
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def _strongest(counts: Matrix, start: int, carried: Floats, passages: int) -> Matrix:
    """The weights of some rows, of each only the strongest; equal ones by their place."""
    from scipy import sparse  # noqa: PLC0415

    found = counts.tocoo()
    apart = found.row + start != found.col
    row, column, both = (cast("Places", each[apart]) for each in (found.row, found.col, found.data))
    weight = log_likelihood_ratio(
        both.astype(np.float64), carried[row + start], carried[column], float(passages)
    )
    order = np.lexsort((column, -weight, row))
    row, column, weight = row[order], column[order], weight[order]
    kept = (np.arange(len(row)) - np.searchsorted(row, row) < NEIGHBOURS) & (weight > 0)
    return sparse.csr_array((weight[kept], (row[kept], column[kept])), shape=counts.shape)
