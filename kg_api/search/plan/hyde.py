"""HyDE: a question is searched for by answers that a language model imagines, besides itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, InvalidInput, LlmFailed, LlmUnavailable, OtherModel
from kg_api.llm.hypothetical import hypothetical_answers
from kg_api.llm.lazy import LanguageModel
from kg_api.llm.situate import Ask
from kg_api.models.queries.search import SourceSearch
from kg_api.parse.size import words
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.open_space import OpenSpace

log = structlog.get_logger()

AUTO_WORDS = 12
"""From so many words on a question is taken as a long one, with `auto`."""
AUTO_ANSWERS = 3
LEFT_ALONE_SECONDS = 5.0
"""A language model that failed is not asked again for so long: searches go on without at once."""
Fault = ConfigurationError | LlmUnavailable


class Hyde:
    """Asks for hypothetical answers. Thread-safe."""

    def __init__(self, ask: Ask | None = None) -> None:
        """`ask`: a language model; None: there is none."""
        self._ask = ask or LanguageModel(None).ask
        self._down: tuple[float, type[Fault], str] | None = None
        """Until when, and why; the error itself would be shared by threads, and grow with each raising."""
        self._telling = threading.Lock()

    def generate(self, request: SourceSearch) -> tuple[list[str], str | None]:
        """Get as many answers as a request wants; or none, and why."""
        count, question = count_wanted(request), request.query_text
        if count == 0 or question is None:
            return [], None
        try:
            return self._write_answers(question, count), None
        except (ConfigurationError, InvalidInput, LlmFailed, LlmUnavailable) as error:
            return [], str(error)

    def _write_answers(self, question: str, count: int) -> list[str]:
        with self._telling:
            down = self._down
        if down is not None and time.monotonic() < down[0]:
            raise down[1](down[2])
        try:
            return hypothetical_answers(self._ask, question, count)
        except (ConfigurationError, LlmUnavailable) as error:
            self._leave_alone(error)
            raise

    def _leave_alone(self, error: ConfigurationError | LlmUnavailable) -> None:
        asked = error.retry_after_seconds if isinstance(error, LlmUnavailable) else None
        with self._telling:
            self._down = (time.monotonic() + max(LEFT_ALONE_SECONDS, asked or 0), type(error), str(error))
        log.warning("no hypothetical answers", error=type(error).__name__, reason=str(error))


def count_wanted(request: SourceSearch) -> int:
    """How many answers a request wants; `auto` wants some for a long question."""
    if request.hyde != "auto":
        return request.hyde
    by_words_alone = request.mode == "text" or request.query_vector is not None
    long = words(request.query_text or "") >= AUTO_WORDS
    return AUTO_ANSWERS if long and not by_words_alone else 0


def average_vectors(
    question: NDArray[np.float32], texts: Sequence[str], opened: OpenSpace
) -> tuple[NDArray[np.float32], str | None]:
    """The mean of a question's vector and its hypothetical answers', as Gao et al. have it, of length 1.

    Args:
        question: its vector, shape (dimensions,), length 1.
        texts: the answers; they are embedded as passages, cut where the model takes less.
        opened: the space.

    Raises:
        OtherModel: another model answers in this space.

    Returns:
        The vector; that of the question, and why, where the answers cannot be embedded.
    """
    if not texts:
        return question, None
    try:
        embedder = opened.embedder()
        cut = [text[: embedder.spans(text)[0][1]] for text in texts]
        vectors = opened.embed_passages([text for text in cut if text.strip()])
    except OtherModel:  # the question's vector may be of that model too
        raise
    except (*FAULTS, InvalidInput) as error:
        return question, str(error)
    mean = np.vstack([question, vectors]).astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 0 else question, None
