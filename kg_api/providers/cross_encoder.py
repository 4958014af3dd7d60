"""Cross-encoder to score a question and a passage, using onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokenizers import Encoding

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.onnx_sessions import ORT_ERRORS, load_session
from kg_api.providers.model_files import TOKENIZER, WEIGHTS
from kg_api.providers.wordpiece import load_tokenizer

MAX_TOKENS = 512  # of question and passage together
MAX_QUESTION_LENGTH = 64
"""Tokens. These models are trained to use short questions, and passages as questions score badly (ADR 17)."""
OVERLAP = 64
"""Tokens that are in two windows of a long passage, so that each sentence is complete in one."""
_PIECE = 50_000  # characters that are tokenised together: more would need gigabytes of memory


class CrossEncoder:
    """Model and tokenizer. Thread-safe.

    Each call has one pair and one ONNX thread. In a batch, the dynamic quantisation of an int8 model would
    make scores depend on the other passages.
    """

    def __init__(self, folder: Path) -> None:
        self._whole = load_tokenizer(folder / TOKENIZER)
        self._windows = load_tokenizer(folder / TOKENIZER)
        self._windows.enable_truncation(MAX_TOKENS, stride=OVERLAP, strategy="only_second")
        self._session, self._inputs = load_session(folder / WEIGHTS)
        try:
            self.score("warm", "up")
        except RerankUnavailable as error:
            raise ConfigurationError(f"{folder} holds no cross-encoder: {error}") from error

    def require_question(self, question: str) -> None:
        """Raise an error if a question does not leave enough space for passages."""
        too_long = len(question) > _PIECE
        if too_long or len(self._whole.encode(question, add_special_tokens=False)) > MAX_QUESTION_LENGTH:
            raise RerankUnavailable(
                f"the question is longer than the {MAX_QUESTION_LENGTH} tokens that the reranker takes"
            )

    def score(self, question: str, passage: str, until: float | None = None) -> float:
        """Score a pair, of any sign. If a passage is long, the score is from the best window."""
        best = -np.inf
        for window in self._build_pairs(question, passage):
            if until is not None and time.monotonic() > until:
                raise TimeoutError
            best = max(best, self._run(window))
        return float(best)

    def _build_pairs(self, question: str, passage: str) -> Iterator[Encoding]:
        for at in range(0, max(len(passage), 1), _PIECE):
            first = self._windows.encode(question, passage[at : at + _PIECE])
            yield first
            yield from first.overflowing

    def _run(self, pair: Encoding) -> float:
        inputs = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        try:
            found = self._session.run(
                None, {name: np.array([inputs[name]], dtype=np.int64) for name in self._inputs}
            )[0]
        except ORT_ERRORS as error:
            raise RerankUnavailable(f"the reranker does not run: {error}") from error
        if found.size != 1 or not np.isfinite(found).all():
            raise RerankUnavailable(f"the reranker returned {found.tolist()} instead of one score")
        return float(found.reshape(-1)[0])
