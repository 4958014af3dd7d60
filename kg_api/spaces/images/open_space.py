"""A space of pictures whose model can be asked: opened when needed, seen to be the same as ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.port import ImageEmbedder, Pixels, Rendering
from kg_api.embed.image.probe import probe_picture
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space, find_space, remember_probe
from kg_api.spaces.model_watch import FAULTS, WatchedModel
from kg_api.spaces.probe import check_probe
from kg_api.wording.normal_form import normalise_width


class OpenImageSpace(WatchedModel[ImageEmbedder]):
    """A space of pictures and its model. Thread-safe.

    What a model elsewhere answers is used only as long as it was seen lately to be the one that made the
    space's vectors: it is asked for the same drawn picture again.
    """

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], ImageEmbedder], *, checked: bool = False
    ) -> None:
        """`checked`: its model has just answered as it should."""
        super().__init__(space, open_model, checked=checked)
        self._graph = graph

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
        return self._asked(lambda: self.embedder().embed_query(normalise_width(text)))

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


def probe(embedder: ImageEmbedder) -> NDArray[np.float32]:
    """What a model answers to the drawn picture; shape (dimensions,).

    Raises:
        As `ImageEmbedder.embed_images`.
    """
    return embedder.embed_images([probe_picture(embedder.rendering)])[0]
