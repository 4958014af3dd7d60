"""Passages that are longer than a model reads: in windows, of which the best counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

OVERLAP = 0.125
"""Share of a window that the next one repeats, so that no sentence is torn in both."""


def windows(text: str, most: int) -> list[str]:
    """Cut a text into overlapping windows of at most `most` characters; one that fits is its only window."""
    step = max(1, most - int(most * OVERLAP))
    starts = range(0, max(1, len(text) - (most - step)), step)
    return [text[at : at + most] for at in starts]


def best_of(scores: Sequence[float], counts: Sequence[int]) -> list[float]:
    """The best score of each text, from those of all windows in a row and how many each text has."""
    borders = accumulate(counts, initial=0)
    return [max(scores[start:end]) for start, end in pairwise(borders)]
