"""A space of pictures whose model can be asked: opened when needed, seen to be the same as ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.embed.image.port import ImageEmbedder, Pixels, Rendering
from kg_api.embed.image.probe import probe_picture
from kg_api.embed.known import IN_PROCESS
from kg_api.errors import ConfigurationError
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space, display_name, find_space, remember_probe
from kg_api.spaces.model_watch import FAULTS, Fault, ModelWatch
from kg_api.spaces.probe import check_probe

log = structlog.get_logger()


class OpenImageSpace:
    """A space of pictures and its model. Thread-safe.

    What a model elsewhere answers is used only as long as it was seen lately to be the one that made the
    space's vectors: it is asked for the same drawn picture again.
    """

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], ImageEmbedder], *, checked: bool = False
    ) -> None:
        """`checked`: its model has just answered as it should."""
        self.space = space
        self._graph = graph
        self._open_model = open_model
        self._embedder: ImageEmbedder | None = None
        self._opening = threading.Lock()
        self._watch = ModelWatch(lasting=space.identity.provider in IN_PROCESS, proven=checked)

    def embedder(self) -> ImageEmbedder:
        """The model itself, opened when it is first needed, and tried again when that failed.

        Raises:
            ConfigurationError: it cannot be opened, or is not the one that the space was made with.
            EmbeddingUnavailable: it cannot be had at the moment.
        """
        with self._opening:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    @property
    def rendering(self) -> Rendering:
        """How its model wants pictures to be unpacked.

        Raises:
            As `embedder`.
        """
        return self.embedder().rendering

    @property
    def reads_text(self) -> bool:
        """Whether words find pictures in it.

        Raises:
            As `embedder`.
        """
        return self.embedder().reads_text

    def check(self) -> None:
        """Ask the model for its drawn picture and compare; the first answer of all is kept.

        Raises:
            ConfigurationError: another model answers under the same name.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        asked_at = time.monotonic()
        try:
            answered = probe(self.embedder())
            if self.space.probe is None:
                remember_probe(self._graph, self.space, answered)
                self.space = find_space(self._graph, self.space.slug)
            check_probe(self.space, answered)
        except FAULTS as error:
            self._leave_alone(error)
            raise
        self._watch.proven(asked_at)

    def assure(self) -> None:
        """As `check`, unless it was just seen that the model is the same."""
        if self._watch.is_due:
            self.check()

    def embed_pixels(self, images: Sequence[Pixels]) -> NDArray[np.float32]:
        """Embed pictures that were unpacked as `rendering` says; shape (len(images), dimensions).

        Raises:
            As `ImageEmbedder.embed_images`; ConfigurationError also when another model answers.
        """
        return self._asked(lambda: self.embedder().embed_images(images))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed words that are to find pictures; shape (dimensions,).

        Raises:
            As `ImageEmbedder.embed_query`; ConfigurationError also when another model answers.
        """
        return self._asked(lambda: self.embedder().embed_query(text))

    def problem(self) -> str | None:
        """Why the model cannot be used, as far as it is known without asking it."""
        if (trouble := self.trouble()) is not None:
            return trouble
        try:
            self.embedder()
        except FAULTS as error:
            self._leave_alone(error)
            return str(error)
        return None

    def trouble(self) -> str | None:
        """Why the model was not used when it was asked last."""
        failure = self._watch.failure
        return None if failure is None else str(failure.error)

    def close(self) -> None:
        """Close the model."""
        if self._embedder is not None:
            self._embedder.close()

    def _asked(self, ask: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        """What a model answers that is as it was; one that just failed is left alone for a few seconds."""
        if failure := self._watch.rests:
            raise failure.again()
        self.assure()
        try:
            return ask()
        except FAULTS as error:
            self._leave_alone(error)
            raise

    def _open(self) -> ImageEmbedder:
        embedder = self._open_model()
        if embedder.identity != self.space.identity:
            embedder.close()
            raise ConfigurationError(
                f"the space {self.space.slug!r} was made with {display_name(self.space.identity)}, but here "
                f"is {display_name(embedder.identity)}: make a further space for it "
                "(kg admin spaces create --modality image)"
            )
        log.info("model opened", space=self.space.slug)
        return embedder

    def _leave_alone(self, error: Fault) -> None:
        self._watch.failed(error)
        log.warning("model left alone", space=self.space.slug, error=type(error).__name__, reason=str(error))


def probe(embedder: ImageEmbedder) -> NDArray[np.float32]:
    """What a model answers to the drawn picture; shape (dimensions,).

    Raises:
        As `ImageEmbedder.embed_images`.
    """
    return embedder.embed_images([probe_picture(embedder.rendering)])[0]
