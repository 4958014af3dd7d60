"""Passages to vectors, each text of a space once only: what was made before comes from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.cache import read_vectors, remember_vectors
from kg_api.graph.database import Graph
from kg_api.models.identity import digest
from kg_api.spaces.open_space import OpenSpace


@dataclass(frozen=True, slots=True)
class CachedPassages:
    """Embeds passages; `keeps` says whether vectors are remembered beyond a call."""

    graph: Graph
    keeps: bool

    def embed(self, opened: OpenSpace, texts: Sequence[str], *, fresh: bool = False) -> NDArray[np.float32]:
        """Embed texts, equal ones once; what is remembered is not asked for when they shall be `fresh`.

        Returns:
            float32, shape (len(texts), dimensions), in the order given.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not give them.
            InvalidInput: a text cannot be embedded.
        """
        if not texts:
            return np.empty((0, opened.space.dimensions), dtype=np.float32)
        keys = [digest("vector", opened.space.fingerprint, text) for text in texts]
        unique = dict(zip(keys, texts, strict=True))
        known = read_vectors(self.graph, list(unique)) if self.keeps and not fresh else {}
        missing = {key: text for key, text in unique.items() if key not in known}
        new = self._made(opened, missing)
        if self.keeps:
            remember_vectors(self.graph, new, list(known))
        return np.stack([known[key] if key in known else new[key] for key in keys])

    def _made(self, opened: OpenSpace, texts: dict[str, str]) -> dict[str, NDArray[np.float32]]:
        if not texts:
            return {}
        return dict(zip(texts, opened.embedder().embed_passages(list(texts.values())), strict=True))
