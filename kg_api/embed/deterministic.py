"""A tiny embedder without a model, for tests and trials: similar words give similar vectors, no more."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kg_api.embed.local.late import by_text, join_vectors
from kg_api.embed.port import TextPart, Vectors
from kg_api.embed.tally import spend
from kg_api.embed.text.spans import Span, TokenSpan, cut
from kg_api.embed.text.tokens import measure, query_pieces, total
from kg_api.embed.vectors import require_text, too_long, unit
from kg_api.models.embedding.spaces import SpaceIdentity

_WORD = re.compile(r"\w+")


class DeterministicEmbedder:
    """Words and pairs of neighbouring words, hashed to signed counts; a word is a token.

    The same vectors on every machine and in every release: what changes them changes the revision.
    """

    def __init__(self, dimensions: int = 256, max_tokens: int = 512) -> None:
        self._identity = SpaceIdentity(
            provider="deterministic",
            model="word-hash",
            revision="1",
            dimensions=dimensions,
            max_tokens=max_tokens,
        )

    @property
    def identity(self) -> SpaceIdentity:
        """Its size is part of it."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self._identity.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self._vector(text)
        spend(self.count_tokens(texts))
        return vectors

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        """See `TokenEmbedder`; a part is coloured by all words around it alike."""
        numbers = by_text(parts)
        around = self.embed_passages(list(numbers))
        within = {at: row for mine, row in zip(numbers.values(), around, strict=True) for at in mine}
        return join_vectors(self.embed_passages([part.alone for part in parts]), within)

    def embed_query(self, text: str) -> Vectors:
        require_text(text)
        pieces = self.embed_passages(query_pieces(text, self.spans(text)))
        return unit(pieces.mean(axis=0, dtype=np.float64), self._identity.dimensions)

    def spans(self, text: str, before: str = "") -> list[Span]:
        return cut(text, measure(_Words(), self._identity.max_tokens, before))

    def count_tokens(self, texts: Sequence[str]) -> int:
        return total(_Words(), self._identity.max_tokens, "", texts)

    def close(self) -> None:
        """Nothing is open."""

    def _vector(self, text: str) -> Vectors:
        require_text(text)
        words = _WORD.findall(text.casefold())
        if len(words) > self._identity.max_tokens:
            raise too_long(self._identity.max_tokens)
        counts = self._counts(Counter([*words, *map(" ".join, pairwise(words))]))
        if not counts.any():  # no word in it, or all signs cancel out
            counts = self._counts(Counter([text]))
        return unit(counts, self._identity.dimensions)

    def _counts(self, features: Counter[str]) -> Vectors:
        counts = np.zeros(self._identity.dimensions, dtype=np.float32)
        for feature, count in features.items():
            number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
            counts[(number >> 1) % len(counts)] += count if number & 1 else -count
        return counts


class _Words:
    """A word is a token."""

    special = 0
    widest = 1

    def max_characters(self, max_tokens: int) -> int:  # noqa: ARG002 - words may be of any length
        return 1_000_000

    def count(self, text: str) -> int:
        return sum(1 for _ in _WORD.finditer(text))

    def tokens(self, text: str) -> list[TokenSpan]:
        return [TokenSpan(*found.span(), word) for word, found in enumerate(_WORD.finditer(text))]
