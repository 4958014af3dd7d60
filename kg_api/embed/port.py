"""What every embedding provider gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import InvalidInput
from kg_api.models.embedding.spaces import SpaceIdentity

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a longer text, to be embedded as it is meant there. Offsets are code points, end excluded."""

    text: str
    """All that the model reads of what is around the part, and the part itself."""
    start: int
    end: int
    before: str = ""
    """What is read in front of the part when it is read by itself."""

    @property
    def alone(self) -> str:
        """The part as it is read by itself."""
        return self.before + self.text[self.start : self.end]


class RejectedTexts(InvalidInput):
    """Some of the texts are rejected, each by itself; the others were accepted."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """`reasons`: by text. The message is the first, without a text."""
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons

    @classmethod
    def slug(cls) -> str:
        """The name that clients know, which does not tell one text from several."""
        return InvalidInput.slug()


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
            InvalidInput: a text is blank or too long, or the provider refuses it.
            RejectedTexts: the provider fails on these; the others are fine.
            ConfigurationError: a provider does not take the key, the model or its dimensions.
            EmbeddingUnavailable: a provider does not answer, after all tries.
            EmbeddingFailed: the model gave NaN, zero or wrongly sized vectors.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a question, with the model's query prefix; one over `max_tokens` is averaged over its spans.

        Of a question of more than 8 spans, 8 that are spread evenly stand for it.

        Returns:
            float32, shape (dimensions,), of length 1.

        Raises:
            InvalidInput: the text is blank, or the provider refuses it.
            ConfigurationError: a provider does not take the key, the model or its dimensions.
            EmbeddingUnavailable: the model does not answer, within KG_EMBEDDING__QUERY_SECONDS.
            EmbeddingFailed: the model gave a NaN, zero or wrongly sized vector.
        """
        ...

    def spans(self, text: str, before: str = "") -> list[tuple[int, int]]:
        """Cut text into pieces that fit `max_tokens` each with `before` in front of them.

        Returns:
            (start, end) offsets in code points, joining to the whole text.

        Raises:
            InvalidInput: `before` alone leaves no room.
        """
        ...

    def count_tokens(self, texts: Sequence[str]) -> int:
        """How many tokens the model reads when these passages are embedded: what a provider bills."""
        ...

    def close(self) -> None:
        """Close connections and threads; the embedder is not used any more."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """A model that gives a vector for each token, so that a part of a text can be embedded within it."""

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        """Embed parts of texts of at most `max_tokens` tokens; each text is read once for all its parts.

        A part is read twice: by itself, and in its text. Its vector depends on both and on nothing beside it.

        Returns:
            float32, shape (len(parts), dimensions), rows of length 1, in the order given.

        Raises:
            InvalidInput: a part is blank, or it or its text is too long.
            EmbeddingFailed: the model gave NaN or zero vectors.
        """
        ...


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Whether an embedder can embed a part of a text within it; nothing is asked of the model."""
    return callable(getattr(embedder, "embed_parts", None))
