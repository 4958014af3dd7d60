"""Which of some sources are nearest to which: every pair is compared, so nothing is missed. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
BLOCK = 512
"""Vectors that are compared with all at once: with 80,000 others that are 164 MB."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of sources that have any."""

    rows: Floats
    """Shape (vectors, dimensions), those of one source behind each other."""
    starts: NDArray[np.int64]
    """Where the vectors of each source begin; every source has one at least."""

    @classmethod
    def of(cls, parts: Sequence[Sequence[Floats]]) -> Vectors:
        """Put the vectors of some sources together; each has one at least."""
        counts = [len(each) for each in parts]
        rows = np.stack([vector for each in parts for vector in each])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return cls((rows / lengths).astype(np.float32), np.cumsum([0, *counts[:-1]], dtype=np.int64))


def nearest_pairs(
    vectors: Vectors, documents: Sequence[str], neighbours: int, least: float | None, *, across: bool
) -> dict[tuple[int, int], float]:
    """Connect each source with those that are most similar to it.

    Two sources are as similar as the nearest of their chunks.

    Args:
        vectors: of the sources.
        documents: the document of each source.
        neighbours: so many for each source; a pair is an edge when one of the two has chosen the other.
        least: less similar ones are not connected.
        across: connect sources of different documents only.

    Returns:
        The cosine of each pair (a, b) with a < b, by their numbers.
    """
    of_document = np.unique(np.asarray(documents), return_inverse=True)[1]
    pairs: dict[tuple[int, int], float] = {}
    for begin, end in _blocks(vectors):
        block = _block(vectors, begin, end)
        numbers = np.arange(begin, end)
        block[numbers - begin, numbers] = -np.inf
        if across:
            block[of_document[numbers][:, None] == of_document[None, :]] = -np.inf
        for number, row in zip(numbers.tolist(), block, strict=True):
            for other in _best(row, neighbours, least):
                pairs[min(number, other), max(number, other)] = float(row[other])
    return pairs


def _blocks(vectors: Vectors) -> Iterator[tuple[int, int]]:
    """Sources in portions of about so many vectors, one source at least."""
    begin = 0
    while begin < len(vectors.starts):
        ends = [*vectors.starts[1:].tolist(), len(vectors.rows)]  # of each source's vectors
        end = max(begin + 1, bisect_right(ends, int(vectors.starts[begin]) + BLOCK))
        yield begin, end
        begin = end


def _block(vectors: Vectors, begin: int, end: int) -> Floats:
    """The similarity of some sources with all; shape (of the block, of all)."""
    starts = vectors.starts
    rows = vectors.rows[starts[begin] : starts[end] if end < len(starts) else None]
    every = np.maximum.reduceat(rows @ vectors.rows.T, starts, axis=1)
    return np.maximum.reduceat(every, starts[begin:end] - starts[begin], axis=0)


def _best(row: Floats, count: int, least: float | None) -> list[int]:
    """The largest of a row, the first of equal ones."""
    kept = np.flatnonzero(row > -np.inf if least is None else row >= least)
    if len(kept) > count:
        worst = -np.partition(-row[kept], count - 1)[count - 1]
        kept = kept[row[kept] >= worst]
    order = np.lexsort((kept, -row[kept]))
    return kept[order][:count].tolist()
