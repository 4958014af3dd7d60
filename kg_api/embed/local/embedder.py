"""The local model: offline, without a key."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from kg_api.embed.catalogue import ModelSpec
from kg_api.embed.local.late import by_text, join_vectors
from kg_api.embed.local.onnx import OnnxModel
from kg_api.embed.port import TextPart, Vectors
from kg_api.embed.tally import spend
from kg_api.embed.text.spans import Span, cut
from kg_api.embed.text.tokens import query_pieces, total
from kg_api.embed.vectors import require_text, unit
from kg_api.machine import cores
from kg_api.models.embedding.spaces import SpaceIdentity


class LocalEmbedder:
    """A model on this machine's processor.

    Vectors are bit-stable on one machine: the same text gives the same bytes alone, in a batch, from several
    threads and after a restart. Not for use in a child made by `fork`.
    """

    def __init__(self, folder: Path, spec: ModelSpec, threads: int | None = None) -> None:
        """Load the model from `folder`; `threads` texts are embedded at once (unset: one per core).

        Raises:
            ConfigurationError: the folder does not hold the model that `spec` describes.
        """
        self._model = OnnxModel(folder, spec)
        self._identity = SpaceIdentity(
            provider="local",
            model=spec.name,
            revision=spec.revision,
            dimensions=spec.dimensions,
            max_tokens=spec.max_tokens,
            query_prefix=spec.query_prefix,
            passage_prefix=spec.passage_prefix,
        )
        self._pool = ThreadPoolExecutor(threads or cores(), thread_name_prefix="embed")

    @property
    def identity(self) -> SpaceIdentity:
        """The weights' name and checksum, and all that shapes their vectors."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._identity.passage_prefix)

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        return join_vectors(self.embed_passages([part.alone for part in parts]), self.within(parts))

    def within(self, parts: Sequence[TextPart]) -> dict[int, Vectors]:
        """The parts by their tokens in their texts alone, by number; one without a token there is missing."""
        numbers = by_text(parts)
        read = self._pool.map(self._read, ([parts[at] for at in mine] for mine in numbers.values()))
        within: dict[int, Vectors] = {}
        for mine, (vectors, tokens) in zip(numbers.values(), read, strict=True):
            spend(tokens)
            within |= {at: vector for at, vector in zip(mine, vectors, strict=True) if vector is not None}
        return within

    def embed_query(self, text: str) -> Vectors:
        """See `Embedder`. One that fits is embedded in the caller's thread: it never waits for passages."""
        require_text(text)
        prefix = self._identity.query_prefix
        spans = cut(text, self._model.measure(prefix))
        if len(spans) == 1:
            vector, tokens = self._model.embed(prefix + text)
            spend(tokens)
            return vector
        mean = self._embed(query_pieces(text, spans), prefix).mean(axis=0, dtype=np.float64)
        return unit(mean, self._identity.dimensions)

    def spans(self, text: str, before: str = "") -> list[Span]:
        """See `Embedder`. A span is blank only where white space fills tens of thousands of characters."""
        return cut(text, self._model.measure(self._identity.passage_prefix + before))

    def count_tokens(self, texts: Sequence[str]) -> int:
        identity = self._identity
        return total(self._model.tokenizer, identity.max_tokens, identity.passage_prefix, texts)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, parts: Sequence[TextPart]) -> tuple[list[Vectors | None], int]:
        prefix = self._identity.passage_prefix
        places = [(part.start + len(prefix), part.end + len(prefix)) for part in parts]
        return self._model.embed_spans(prefix + parts[0].text, places)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        for text in texts:
            require_text(text)
        longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))  # no thread ends late
        vectors = np.empty((len(texts), self._identity.dimensions), dtype=np.float32)
        found = self._pool.map(self._model.embed, (prefix + texts[i] for i in longest_first))
        for i, (vector, tokens) in zip(longest_first, found, strict=True):
            vectors[i] = vector
            spend(tokens)
        return vectors
