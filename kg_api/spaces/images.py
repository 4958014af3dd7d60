"""A space of pictures whose model can be asked: opened when needed, seen to be the same as ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.client import Graph
from kg_api.graph.spaces import Space, all_spaces, ensure_space, find_space, remember_probe
from kg_api.normal_form import normalise_width
from kg_api.providers.embedding_port import ImageEmbedder, Pixels, Rendering, probe_picture
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG, ImageModelChoice, NewSpace, SpaceIdentity
from kg_api.schemas.vocabulary import ImageProvider
from kg_api.spaces.open_spaces import (
    FAULTS,
    OpenSpaces,
    WatchedModel,
    check_probe,
    register_probed,
    require_room,
)


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


# All spaces of pictures, each with its model.

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


# Which ontologies share a space of pictures, and which spaces of pictures and of texts are one. Pure.

ONE_SPACE: Final = {"nomic-embed-vision-v1.5": "nomic-embed-text-v1.5"}
"""Models of pictures that were trained into the space of a model of texts (Nomic, 2024)."""


def group_by_space(names: Iterable[str], spaces: Mapping[str, Space]) -> list[tuple[Space, list[str]]]:
    """Ontologies by the space that answers for their pictures; those without one are left out."""
    groups: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        if name in spaces:
            groups.setdefault(spaces[name].slug, (spaces[name], []))[1].append(name)
    return list(groups.values())


def is_one_space(pictures: SpaceIdentity, texts: SpaceIdentity) -> bool:
    """Whether a picture's vector can be compared with those of passages.

    That is known of some models, and of one that embeds both.
    """
    if (pictures.provider, pictures.dimensions) != (texts.provider, texts.dimensions):
        return False
    both = (pictures.model, pictures.revision) == (texts.model, texts.revision)
    return both or ONE_SPACE.get(pictures.model) == texts.model
