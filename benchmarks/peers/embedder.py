"""kg's default embedder as everybody here uses it: one ONNX session, as many threads as cores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from kg_api.providers.embedding_port import ModelSpec
from kg_api.providers.local_embedding import LocalEmbedder

BARE_SAMPLE = 600


class SameEmbedder:
    """The model, with lists instead of arrays, for that is what the other libraries hand on."""

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        self._own = LocalEmbedder(folder, spec)
        self.dimensions = spec.dimensions

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of texts; of one that is longer than the model reads, of its beginning."""
        return self._own.embed_passages([self._beginning(text) for text in texts]).tolist()

    def question(self, text: str) -> list[float]:
        """The vector of a question, in the caller's thread."""
        return self._own.embed_query(text).tolist()

    def is_cut(self, text: str) -> bool:
        """Whether the model does not read it whole."""
        return len(self._own.spans(text)) > 1

    def bare_seconds(self, texts: Sequence[str]) -> float:
        """How long it takes for texts by itself, with nothing read or written."""
        whole = [self._beginning(text) for text in texts]
        begun = time.perf_counter()
        self._own.embed_passages(whole)
        return time.perf_counter() - begun

    def _beginning(self, text: str) -> str:
        start, end = self._own.spans(text)[0]
        return text[start:end]


def by_length(texts: Sequence[str], count: int) -> list[str]:
    """A sample with the same lengths as the whole."""
    step = max(len(texts) / count, 1)
    ordered = sorted(texts, key=len)
    return [ordered[int(at * step)] for at in range(min(count, len(ordered)))]
