"""Passages to vectors, each text of a space once only: what was made before comes from the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg_api.chunk.windows import WINDOW_VERSION
from kg_api.embed.known import require_tokens
from kg_api.embed.port import TextPart
from kg_api.graph.cache import read_vectors, remember_vectors
from kg_api.graph.database import Graph
from kg_api.models.identity import digest
from kg_api.spaces.open_space import OpenSpace

Passage = str | TextPart
"""A text by itself, or a part of one that is read within it."""


@dataclass(frozen=True, slots=True)
class CachedPassages:
    """Embeds passages; `keeps` says whether vectors are remembered beyond a call."""

    graph: Graph
    keeps: bool

    def embed(
        self, opened: OpenSpace, passages: Sequence[Passage], *, fresh: bool = False
    ) -> NDArray[np.float32]:
        """Embed passages, equal ones once; what is remembered is not asked for when they shall be `fresh`.

        Returns:
            float32, shape (len(passages), dimensions), in the order given.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not give them.
            InvalidInput: a text cannot be embedded.
        """
        if not passages:
            return np.empty((0, opened.space.dimensions), dtype=np.float32)
        keys = [_key(opened.space.fingerprint, passage) for passage in passages]
        unique = dict(zip(keys, passages, strict=True))
        known = read_vectors(self.graph, list(unique)) if self.keeps and not fresh else {}
        missing = {key: passage for key, passage in unique.items() if key not in known}
        new = _make(opened, missing) if missing else {}
        if self.keeps:
            remember_vectors(self.graph, new, list(known))
        return np.stack([known[key] if key in known else new[key] for key in keys])


def _key(fingerprint: str, passage: Passage) -> str:
    """All that decides over the vector."""
    if isinstance(passage, str):
        return digest("vector", fingerprint, passage)
    place = (str(passage.start), str(passage.end))
    return digest("late", fingerprint, WINDOW_VERSION, passage.text, *place, passage.before)


def _make(opened: OpenSpace, passages: Mapping[str, Passage]) -> dict[str, NDArray[np.float32]]:
    texts = {key: passage for key, passage in passages.items() if isinstance(passage, str)}
    parts = {key: passage for key, passage in passages.items() if isinstance(passage, TextPart)}
    made: dict[str, NDArray[np.float32]] = {}
    if texts:
        made |= zip(texts, opened.embed_passages(list(texts.values())), strict=True)
    if parts:
        made |= zip(parts, require_tokens(opened.embedder()).embed_parts(list(parts.values())), strict=True)
    return made
