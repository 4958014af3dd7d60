"""A space whose model can be asked: opened when needed, checked now and then, left alone when down."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.embed.port import Embedder
from kg_api.errors import (
    ConfigurationError,
    EmbeddingFailed,
    EmbeddingUnavailable,
    KgError,
)
from kg_api.graph.database import Graph
from kg_api.graph.spaces import (
    Space,
    find_space,
    named,
    remember_contrast,
    remember_labels,
    remember_probe,
    sample_of_concepts,
)
from kg_api.spaces.calibration import contrast_of, label_contrast_of
from kg_api.spaces.probe import PROBE_TEXT, check_probe

log = structlog.get_logger()

LEFT_ALONE_SECONDS = 5.0
"""After a failure questions go to full text at once for so long, instead of waiting for it each time."""
CHECKED_SECONDS = 300.0
"""How long a model is taken to be the one that it was."""
LABELS_LOOKED_SECONDS = 60.0
"""How often at most it is looked whether concepts are to be measured."""
LABELS_HOURS = 24
"""After so long they are measured anew: there may be others."""
LABELS_SAMPLED = 200
LABELS_ASKED = 32
LABELS_NEEDED = 50
"""Of fewer concepts a mean says too little."""
Fault = EmbeddingUnavailable | EmbeddingFailed | ConfigurationError
FAULTS = (EmbeddingUnavailable, EmbeddingFailed, ConfigurationError)


class OpenSpace:
    """A space and its model. Thread-safe."""

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], Embedder], *, checked: bool = False
    ) -> None:
        """`checked`: its model has just answered as it should."""
        self.space = space
        self._graph = graph
        self._open_model = open_model
        self._embedder: Embedder | None = None
        self._checked_at = time.monotonic() if checked else None
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._labels_looked_at = float("-inf")
        self._opening = threading.Lock()
        self._down: tuple[float, Fault] | None = None

    def embedder(self) -> Embedder:
        """The model itself, opened when it is first needed, and tried again when that failed.

        Raises:
            ConfigurationError: it cannot be opened, or is not the one that the space was made with.
            EmbeddingUnavailable: it cannot be had at the moment.
        """
        with self._opening:
            if self._embedder is None:
                self._embedder = self._opened()
            return self._embedder

    def check(self) -> None:
        """Ask the model for its probe text and compare; the first answer of all is kept.

        Raises:
            ConfigurationError: another model answers under the same name.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        self._checked_at = None
        answered = self.embedder().embed_query(PROBE_TEXT)
        if self.space.probe is None:
            remember_probe(self._graph, self.space, answered)
            self.space = find_space(self._graph, self.space.slug)
        check_probe(self.space, answered)
        if self.space.contrast is None:
            self.calibrate_soon()
        self._checked_at = time.monotonic()

    def calibrate_soon(self) -> None:
        """Measure what the model's cosines mean, beside all else; until then the usual is taken."""
        self._asking.submit(self._calibrate)

    def _calibrate(self) -> None:
        try:
            remember_contrast(self._graph, self.space, contrast_of(self.embedder()))
            self.space = find_space(self._graph, self.space.slug)
        except KgError as error:  # tried again when the model is checked next
            log.warning("model not calibrated", space=self.space.slug, reason=str(error))

    def calibrate_labels_soon(self) -> None:
        """Measure what cosines of questions and concepts mean, beside all else, where it is due."""
        if time.monotonic() - self._labels_looked_at > LABELS_LOOKED_SECONDS:
            self._labels_looked_at = time.monotonic()
            with contextlib.suppress(RuntimeError):  # it is being closed
                self._asking.submit(self._calibrate_labels)

    def _calibrate_labels(self) -> None:
        try:
            labels, vectors = sample_of_concepts(self._graph, self.space, LABELS_SAMPLED, LABELS_HOURS)
            if len(labels) >= LABELS_NEEDED:
                measured = label_contrast_of(self.embedder(), labels, vectors, LABELS_ASKED)
                remember_labels(self._graph, self.space, measured)
        except KgError as error:  # tried again in a minute
            log.warning("concepts not calibrated", space=self.space.slug, reason=str(error))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question; a model that just failed is not asked again for a few seconds.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it cannot be embedded; the caller goes
                on with full text.
        """
        if self._down is not None and time.monotonic() < self._down[0]:
            raise self._down[1]
        try:
            vector = self._checked_vector(text) if self._is_to_be_checked() else self._vector(text)
        except FAULTS as error:
            self._left_alone(error)
            raise
        self._down = None
        return vector

    def problem(self) -> str | None:
        """Why the model cannot be used, as far as it is known without a question to it."""
        if self._down is not None:
            return str(self._down[1])
        try:
            self.embedder()
        except FAULTS as error:
            self._left_alone(error)
            return str(error)
        return None

    def close(self) -> None:
        """Close the model."""
        self._asking.shutdown(cancel_futures=True)
        if self._embedder is not None:
            self._embedder.close()

    def _is_to_be_checked(self) -> bool:
        return self._checked_at is None or time.monotonic() - self._checked_at > CHECKED_SECONDS

    def _vector(self, text: str) -> NDArray[np.float32]:
        return self.embedder().embed_query(text)

    def _checked_vector(self, text: str) -> NDArray[np.float32]:
        """Ask for the probe beside the question, so that both take no longer than one."""
        checking = self._asking.submit(self.check)
        try:
            return self._vector(text)
        finally:
            checking.result()

    def _opened(self) -> Embedder:
        begun = time.perf_counter()
        try:
            embedder = self._open_model()
        except FAULTS:
            raise
        except KgError as error:  # a package that cannot be fetched at the moment
            raise EmbeddingUnavailable(str(error)) from error
        if embedder.identity != self.space.identity:
            embedder.close()
            raise ConfigurationError(
                f"the space {self.space.slug!r} was made with {named(self.space.identity)}, but here is "
                f"{named(embedder.identity)}: make a further space for it (kg admin spaces create)"
            )
        log.info("model opened", space=self.space.slug, seconds=round(time.perf_counter() - begun, 2))
        return embedder

    def _left_alone(self, error: Fault) -> None:
        asked = error.retry_after_seconds if isinstance(error, EmbeddingUnavailable) else None
        self._down = (time.monotonic() + max(LEFT_ALONE_SECONDS, asked or 0), error)
        log.warning(
            "question not embedded", space=self.space.slug, error=type(error).__name__, reason=str(error)
        )
