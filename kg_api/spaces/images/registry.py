"""All spaces of pictures, each with its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kg_api.embed.image.port import ImageEmbedder, Pixels, Rendering
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space, all_spaces, ensure_space
from kg_api.models.embedding.spaces import FIRST_IMAGE_SLUG, ImageModelChoice, NewSpace
from kg_api.models.vocabulary import ImageProvider
from kg_api.spaces.images.open_space import OpenImageSpace, probe
from kg_api.spaces.open_spaces import OpenSpaces, register_probed, require_room

OpenImageModel = Callable[[ImageModelChoice | None], ImageEmbedder]
"""Opens a model; None: the one that the settings name."""
Render = Callable[[bytes, Rendering], Pixels]
"""Unpacks a picture for a model, in a process apart."""


class ImageSpaceRegistry(OpenSpaces[OpenImageSpace]):
    """Gives the spaces of pictures, opening each when it is asked for. Thread-safe; one a process."""

    def __init__(self, graph: Graph, open_model: OpenImageModel, render: Render) -> None:
        super().__init__(graph)
        self._open_model = open_model
        self._render = render

    def ensure_first(self) -> OpenImageSpace:
        """Register the first space for the model of the settings, unless one is registered.

        Whether that is of the same model is seen when it is opened: no picture is embedded by another.

        Raises:
            ConfigurationError: the model cannot be opened.
        """
        known = all_spaces(self._graph)
        if FIRST_IMAGE_SLUG in known:
            return self.of(known[FIRST_IMAGE_SLUG])
        embedder = self._open_model(None)
        try:
            space = ensure_space(self._graph, embedder.identity, FIRST_IMAGE_SLUG)
        except BaseException:
            embedder.close()
            raise
        return self._keep(OpenImageSpace(self._graph, space, lambda: embedder))

    def all(self) -> list[OpenImageSpace]:
        """Every one, the oldest first."""
        return [self.of(space) for space in all_spaces(self._graph).values() if space.is_of_images]

    def add(self, new: NewSpace) -> OpenImageSpace:
        """Register a further space: its model is opened and asked, its index made.

        Raises:
            Conflict: there is one of that name for another model.
            ConfigurationError: the model cannot be used; the message says what is missing.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        require_room(all_spaces(self._graph), new.slug)
        choice = ImageModelChoice(cast("ImageProvider", new.provider), new.model, new.dimensions)
        embedder = self._open_model(choice)
        try:
            answered = probe(embedder)  # before anything is registered: it would stay
            space = register_probed(self._graph, embedder.identity, new.slug, answered)
            opened = OpenImageSpace(self._graph, space, lambda: embedder, checked=True)
        except BaseException:
            embedder.close()
            raise
        return self._add(opened)

    def render(self, opened: OpenImageSpace, content: bytes) -> Pixels:
        """Unpack a picture as the model of a space wants it.

        Raises:
            UnreadableDocument: it cannot be read; the message says why.
            TooBusy: too many files are being read.
        """
        return self._render(content, opened.rendering)

    def _find(self, space: Space) -> OpenImageSpace:
        return OpenImageSpace(self._graph, space, lambda: self._open_model(image_choice_of(space)))


def image_choice_of(space: Space) -> ImageModelChoice | None:
    """The model of a space that is registered; None: the one that the settings name."""
    identity = space.identity
    if space.slug == FIRST_IMAGE_SLUG:
        return None
    provider = cast("ImageProvider", identity.provider)
    return ImageModelChoice(provider, identity.model, identity.dimensions)
