"""Local embedding models in ONNX. You can use them offline and without a key."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.machine import count_cores
from kg_api.onnx_sessions import Graph
from kg_api.providers.embedding_port import (
    ModelSpec,
    TextPart,
    TokenizedEmbedder,
    Vectors,
    average_pieces,
    normalize_vector,
    report_too_long,
    require_text,
    spend,
)
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, compute_mean_state, group_by_text, join_vectors
from kg_api.providers.tokens import Span
from kg_api.providers.wordpiece import WordPiece
from kg_api.schemas.spaces import SpaceIdentity

Pooling = Literal["none", "cls", "mean"]
"""How to use the output: `none` for one vector, the first (`cls`), or the `mean` of several."""


class OnnxText:
    """Text model, with the tokenizer. Thread-safe."""

    def __init__(
        self,
        graph: Graph,
        tokenizer: Path,
        *,
        dimensions: int,
        max_tokens: int,
        pooling: Pooling,
        pad_to: int | None = None,
        pad_id: int = 0,
    ) -> None:
        """Load the tokenizer. If `pad_to` is set, use `pad_id` to fill shorter texts."""
        self.tokenizer = WordPiece(tokenizer)
        self._graph = graph
        self._dimensions = dimensions
        self._max_tokens = max_tokens
        self._pooling: Pooling = pooling
        self._pad_to = pad_to
        self._pad_id = pad_id

    def embed(self, text: str) -> tuple[Vectors, int]:
        """Return the vector of a text with its prefix, always the same bytes, and its number of tokens."""
        ids, _ = self._encode(text)
        states = self._compute_states(ids)
        own = states[: len(ids)] if self._pooling == "mean" else states  # without padding
        return normalize_vector(pool_states(own, self._pooling), self._dimensions), len(ids)

    def embed_spans(self, text: str, spans: Sequence[Span]) -> tuple[list[Vectors | None], int]:
        """Read a text once, and return the mean vector of each span (None: no tokens) and all tokens."""
        ids, places = self._encode(text)
        states = self._compute_states(ids)
        means = (compute_mean_state(states, places, span) for span in spans)
        return [None if mean is None else normalize_vector(mean, self._dimensions) for mean in means], len(
            ids
        )

    def _encode(self, text: str) -> tuple[list[int], list[Span]]:
        """Get token ids, including special tokens, and their offsets."""
        if len(text) > self.tokenizer.max_characters(self._max_tokens):
            raise report_too_long(self._max_tokens)
        ids, places = self.tokenizer.encode(text)
        if len(ids) > self._max_tokens:
            raise report_too_long(self._max_tokens)
        return ids, places

    def _compute_states(self, ids: list[int]) -> NDArray[np.float32]:
        return self._graph.run(build_text_inputs(ids, self._pad_to, self._pad_id))


def build_text_inputs(ids: list[int], pad_to: int | None, pad_id: int) -> dict[str, NDArray[Any]]:
    """Build inputs that can be used by a text model, each with shape (1, tokens)."""
    room = max(0, (pad_to or 0) - len(ids))
    padded = np.array([ids + [pad_id] * room], dtype=np.int64)
    mask = np.array([[1] * len(ids) + [0] * room], dtype=np.int64)
    return {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}


def pool_states(states: NDArray[np.float32], pooling: Pooling) -> NDArray[np.floating[Any]]:
    if pooling == "none":
        return states
    if states.ndim != 2 or not len(states):  # noqa: PLR2004 - parts or tokens, and their width
        raise EmbeddingFailed(
            f"the output of the model has shape {states.shape}, which does not support the pooling {pooling}"
        )
    return states[0] if pooling == "cls" else states.mean(axis=0, dtype=np.float64)


class LocalEmbedder(TokenizedEmbedder):
    """Local model to use on the CPU.

    Vectors are bit-stable on one machine: batches, threads and restarts do not change them. Do not use in a
    forked child process.
    """

    def __init__(self, folder: Path, spec: ModelSpec, threads: int | None = None) -> None:
        """Load the model from `folder`.

        `threads` texts can be embedded in parallel (default: one per core).
        """
        self._model = OnnxText(
            Graph(folder / WEIGHTS),
            folder / TOKENIZER,
            dimensions=spec.dimensions,
            max_tokens=spec.max_tokens,
            pooling=spec.pooling,
        )
        try:
            self._model.embed(max(spec.query_prefix, spec.passage_prefix, key=len) + "warm up")
        except (EmbeddingFailed, InvalidInput) as error:
            raise ConfigurationError(f"{folder} does not hold {spec.name} as described: {error}") from error
        facts = (spec.dimensions, spec.max_tokens, spec.query_prefix, spec.passage_prefix)
        super().__init__(SpaceIdentity("local", spec.name, spec.revision, *facts), self._model.tokenizer)
        self._pool = ThreadPoolExecutor(threads or count_cores(), thread_name_prefix="embed")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._identity.passage_prefix)

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        return join_vectors(self.embed_passages([part.separate_text for part in parts]), self.within(parts))

    def within(self, parts: Sequence[TextPart]) -> dict[int, Vectors]:
        """Embed parts using their tokens in the text, by index. If a part has no tokens, it is missing."""
        numbers = group_by_text(parts)
        read = self._pool.map(self._read, ([parts[at] for at in mine] for mine in numbers.values()))
        within: dict[int, Vectors] = {}
        for mine, (vectors, tokens) in zip(numbers.values(), read, strict=True):
            spend(tokens)
            within |= {at: vector for at, vector in zip(mine, vectors, strict=True) if vector is not None}
        return within

    def embed_query(self, text: str) -> Vectors:
        """Embed a query. If it has one span, this uses the caller's thread, to avoid waiting for passages."""
        pieces, prefix = self._split_pieces(text), self._identity.query_prefix
        if len(pieces) > 1:
            return average_pieces(self._embed(pieces, prefix))
        vector, tokens = self._model.embed(prefix + pieces[0])
        spend(tokens)
        return vector

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, parts: Sequence[TextPart]) -> tuple[list[Vectors | None], int]:
        prefix = self._identity.passage_prefix
        places = [(part.start + len(prefix), part.end + len(prefix)) for part in parts]
        return self._model.embed_spans(prefix + parts[0].text, places)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        for text in texts:
            require_text(text)
        longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))  # so that no thread ends late
        vectors = np.empty((len(texts), self._identity.dimensions), dtype=np.float32)
        found = self._pool.map(self._model.embed, (prefix + texts[i] for i in longest_first))
        for i, (vector, tokens) in zip(longest_first, found, strict=True):
            vectors[i] = vector
            spend(tokens)
        return vectors
