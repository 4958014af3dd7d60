"""What every provider owes its callers: usable texts in, usable vectors out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Vectors
from kg_api.errors import EmbeddingFailed, InvalidInput


def require_text(text: str) -> None:
    """Refuse what no model can embed.

    Raises:
        InvalidInput: the text is blank, or holds half of a surrogate pair.
    """
    if not text or text.isspace():
        raise InvalidInput("a blank text cannot be embedded; give it some words or leave it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text is not valid Unicode at character {error.start}") from None


def too_long(max_tokens: int) -> InvalidInput:
    """The error for a text that the model would cut."""
    return InvalidInput(f"the text is longer than the model's {max_tokens} tokens; cut it with `spans` first")


def mean_of_pieces(rows: Vectors) -> Vectors:
    """The vector of a question of several pieces; shape (dimensions,)."""
    return rows[0] if len(rows) == 1 else unit(rows.mean(axis=0, dtype=np.float64), rows.shape[1])


def unit(vector: NDArray[np.floating[Any]], dimensions: int) -> Vectors:
    """Scale to length 1; computed in float64, so that rounding is the same everywhere.

    Returns:
        float32, shape (dimensions,).

    Raises:
        EmbeddingFailed: the vector has another shape, is not finite, or is zero.
    """
    if vector.shape != (dimensions,):
        raise EmbeddingFailed(f"the model gave a vector of shape {vector.shape}, expected ({dimensions},)")
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    if not math.isfinite(length) or length == 0:
        raise EmbeddingFailed("the model gave a vector that is zero or not finite")
    return (exact / length).astype(np.float32)
