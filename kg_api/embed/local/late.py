"""Vectors of parts of a text: from their tokens as they are in the whole, and from their own words alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import TextPart, Vectors
from kg_api.embed.text.spans import Span
from kg_api.embed.vectors import unit

SHARE = 0.3
"""How much the tokens in the whole text weigh beside the part by itself; see adr/0019."""


def mean_of(states: NDArray[np.float32], places: Sequence[Span], span: Span) -> NDArray[np.float64] | None:
    """The mean state of the tokens that touch a span, shape (width,); None when there are none.

    Args:
        states: shape (tokens, width).
        places: of the tokens in the text; special ones have none, (0, 0).
        span: in the same text.
    """
    start, end = span
    touching = [at for at, (low, high) in enumerate(places) if low < end and high > start]
    return states[touching].mean(axis=0, dtype=np.float64) if touching else None


def by_text(parts: Iterable[TextPart]) -> dict[str, list[int]]:
    """The numbers of the parts of each text, so that it is read once."""
    found: dict[str, list[int]] = {}
    for at, part in enumerate(parts):
        found.setdefault(part.text, []).append(at)
    return found


def join_vectors(own: Vectors, within: Mapping[int, Vectors], share: float = SHARE) -> Vectors:
    """Bring both vectors of each part together.

    Args:
        own: of the parts by themselves, shape (parts, dimensions).
        within: by number, of the parts in their texts; one without a token there is missing.
        share: of the latter.

    Returns:
        float32, shape (parts, dimensions), rows of length 1.
    """
    rows = [
        unit((1 - share) * row.astype(np.float64) + share * within[at].astype(np.float64), row.size)
        if at in within
        else row
        for at, row in enumerate(own)
    ]
    return np.stack(rows) if rows else own
