"""One text to one vector, by an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.catalogue import ModelSpec
from kg_api.embed.local.late import mean_of
from kg_api.embed.local.packaged import TOKENIZER, WEIGHTS
from kg_api.embed.port import Vectors
from kg_api.embed.text.spans import Span, TokenMeasure
from kg_api.embed.text.tokens import measure
from kg_api.embed.text.wordpiece import WordPiece
from kg_api.embed.vectors import too_long, unit
from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.onnx_sessions import ORT_ERRORS, load_session


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
