"""The local model: offline, without a key; one text to one vector, by an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.machine import cores
from kg_api.onnx_sessions import ORT_ERRORS, load_session
from kg_api.providers.embedding_port import ModelSpec, TextPart, Vectors, require_text, spend, too_long, unit
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, by_text, join_vectors, mean_of
from kg_api.providers.tokens import Span, TokenMeasure, cut, measure, query_pieces, total
from kg_api.providers.wordpiece import WordPiece
from kg_api.schemas.spaces import SpaceIdentity


class OnnxModel:
    """A transformer and its tokenizer, ready to use from any number of threads at once.

    One text a call and one ONNX thread: in a batch, the dynamic quantisation of an int8 model would make a
    vector depend on the texts beside it, and several threads would make it depend on how they share the work.
    """

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        """Load the model and try it once.

        Raises:
            ConfigurationError: the files cannot be used, or are not what `spec` says.
        """
        self._spec = spec
        self.tokenizer = WordPiece(folder / TOKENIZER)
        self._session, self._inputs = load_session(folder / WEIGHTS)
        try:
            self.vector(max(spec.query_prefix, spec.passage_prefix, key=len) + "warm up")
        except (EmbeddingFailed, InvalidInput) as error:
            raise ConfigurationError(f"{folder} does not hold {spec.name} as described: {error}") from error

    def vector(self, text: str) -> Vectors:
        """Like `embed`, without the number of tokens."""
        return self.embed(text)[0]

    def embed(self, text: str) -> tuple[Vectors, int]:
        """Embed one text, its prefix included.

        Returns:
            float32, shape (dimensions,), of length 1; the same bytes for the same text, always. And how
            many tokens were read.

        Raises:
            InvalidInput: the text is longer than the model takes.
            EmbeddingFailed: the model gave no usable vector.
        """
        ids, _ = self._encode(text)
        states = self._states(ids)
        pooled = states[0] if self._spec.pooling == "cls" else states.mean(axis=0, dtype=np.float64)
        return unit(pooled, self._spec.dimensions), ids.size

    def embed_spans(self, text: str, spans: Sequence[Span]) -> tuple[list[Vectors | None], int]:
        """Read a text once, its prefix included, and give the mean of the tokens of each span.

        Returns:
            float32, shape (dimensions,), of length 1, for each span; None for one without a token. And how
            many tokens were read.

        Raises:
            InvalidInput, EmbeddingFailed: as `embed`.
        """
        ids, places = self._encode(text)
        states = self._states(ids)
        means = (mean_of(states, places, span) for span in spans)
        return [None if mean is None else unit(mean, self._spec.dimensions) for mean in means], ids.size

    def measure(self, before: str) -> TokenMeasure:
        """How long texts are, in tokens, when they stand behind `before`.

        Raises:
            InvalidInput: `before` leaves no room.
        """
        return measure(self.tokenizer, self._spec.max_tokens, before)

    def _encode(self, text: str) -> tuple[NDArray[np.int64], list[Span]]:
        """Token ids, shape (1, tokens), special ones included, and their places."""
        most = self._spec.max_tokens
        if len(text) > self.tokenizer.max_characters(most):
            raise too_long(most)
        ids, places = self.tokenizer.encoded(text)
        if len(ids) > most:
            raise too_long(most)
        return np.array([ids], dtype=np.int64), places

    def _states(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The last layer, shape (tokens, width)."""
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        except ORT_ERRORS as error:
            raise EmbeddingFailed(f"the model does not run: {error}") from error
        expected = (*ids.shape, self._spec.dimensions)
        if states.shape != expected:
            raise EmbeddingFailed(f"the model's first output has shape {states.shape}, expected {expected}")
        return states[0]


# The local model: offline, without a key.


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
