"""What every embedding provider gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.models.spaces import SpaceIdentity

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """One model with its settings. A batch is the primitive; passages and queries are different calls.

    Texts over `identity.max_tokens` are refused, never cut: callers cut them with `spans` first.
    """

    @property
    def identity(self) -> SpaceIdentity:
        """What makes vectors of this model comparable with each other, and with no others."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed texts of at most `max_tokens` tokens.

        Returns:
            float32, shape (len(texts), dimensions), rows of length 1, in the order given.

        Raises:
            InvalidInput: a text is blank or too long.
            EmbeddingFailed: the model gave NaN, zero or wrongly sized vectors.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a question, with the model's query prefix; one over `max_tokens` is averaged over its spans.

        Returns:
            float32, shape (dimensions,), of length 1.

        Raises:
            InvalidInput: the text is blank.
            EmbeddingUnavailable: the model does not answer.
        """
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Cut text into pieces that fit `max_tokens` each: (start, end) offsets, joining to the whole."""
        ...
