"""Image spaces, and image spaces that share vectors with a text space."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.client import Graph
from kg_api.graph.spaces import Space, read_spaces
from kg_api.normal_form import normalise_width
from kg_api.providers.embedding_port import ImageEmbedder, Pixels, Rendering, draw_probe_image
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG, ModelChoice, SpaceIdentity
from kg_api.spaces.open_spaces import FAULTS, OpenSpaces, WatchedModel


class OpenImageSpace(WatchedModel[ImageEmbedder]):
    """An image space and its model. The probe is a fixed drawn image."""

    @property
    def rendering(self) -> Rendering:
        """Image format that the model requires. Raises the errors of `get_embedder`."""
        return self.get_embedder().rendering

    @staticmethod
    def answer_probe(embedder: ImageEmbedder) -> NDArray[np.float32]:
        return embedder.embed_images([draw_probe_image(embedder.rendering)])[0]

    def check(self) -> None:
        asked_at = time.monotonic()
        try:
            self._compare(self.answer_probe(self.get_embedder()), asked_at)
        except FAULTS as error:
            self._open_circuit(error)
            raise

    def embed_pixels(self, images: Sequence[Pixels]) -> NDArray[np.float32]:
        """Embed images in the format of `rendering`. Return shape (len(images), dimensions)."""
        return self._query_model(lambda: self.get_embedder().embed_images(images))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a text query for images. Return shape (dimensions,)."""
        return self._query_model(lambda: self.get_embedder().embed_query(normalise_width(text)))

    def _query_model(self, ask: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        if failure := self._breaker.open_failure:
            raise failure.copy()
        self.ensure_verified()
        try:
            return ask()
        except FAULTS as error:
            self._open_circuit(error)
            raise


Render = Callable[[bytes, Rendering], Pixels]  # decodes an image for a model in a separate process


class ImageSpaceRegistry(OpenSpaces[ImageEmbedder, OpenImageSpace]):
    first = FIRST_IMAGE_SLUG
    modality = "image"
    opened_as = OpenImageSpace

    def __init__(
        self, graph: Graph, open_model: Callable[[ModelChoice | None], ImageEmbedder], render: Render
    ) -> None:
        super().__init__(graph, open_model)
        self._render = render

    def ensure_first(self) -> OpenImageSpace:
        """Register the first image space for the model of the settings, unless one exists."""
        # Opening compares the models, so no other model embeds an image.
        known = read_spaces(self._graph)
        return (
            self.get_open(known[self.first])
            if self.first in known
            else self.open_first(self._open_model(None))
        )

    def render(self, opened: OpenImageSpace, content: bytes) -> Pixels:
        return self._render(content, opened.rendering)


# Ontologies by image space, and shared text and image spaces

ONE_SPACE: Final = {"nomic-embed-vision-v1.5": "nomic-embed-text-v1.5"}
"""Image models trained for the space of a text model (Nomic, 2024)."""


def group_by_space(names: Iterable[str], spaces: Mapping[str, Space]) -> list[tuple[Space, list[str]]]:
    """Group ontologies by their active image space. Skip ontologies without one."""
    groups: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        if name in spaces:
            groups.setdefault(spaces[name].slug, (spaces[name], []))[1].append(name)
    return list(groups.values())


def is_one_space(pictures: SpaceIdentity, texts: SpaceIdentity) -> bool:
    """Check if image vectors and passage vectors are comparable."""
    # True for known pairs of models, and for a model that embeds both.
    if (pictures.provider, pictures.dimensions) != (texts.provider, texts.dimensions):
        return False
    both = (pictures.model, pictures.revision) == (texts.model, texts.revision)
    return both or ONE_SPACE.get(pictures.model) == texts.model
