"""A picture whose like is looked for: one that is stored, or one that was sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph
from kg_api.graph.search.similar import vectors_in
from kg_api.graph.spaces.registry import Space
from kg_api.models.images import ReadImage
from kg_api.models.queries.places import ImageFacts, Place
from kg_api.spaces.images.registry import ImageSpaceRegistry


class ImageLooker(Protocol):
    """Looks at pictures in processes apart."""

    def look_at(self, data: bytes, /) -> ReadImage: ...


class AskedPicture:
    """A picture, looked at as each space wants it; unpacked only in processes apart."""

    def __init__(self, images: ImageSpaceRegistry, reader: ImageLooker, content: Callable[[], bytes]) -> None:
        self._images = images
        self._reader = reader
        self._content = content

    @property
    def own(self) -> Place | None:
        """Where it is stored; None: it was sent."""
        return None

    @cached_property
    def looks(self) -> int:
        """Its perceptual hash.

        Raises:
            UnreadableDocument: it is no picture, or one that is not read; the message says why.
            TooBusy: too many files are being read.
        """
        return int(self._reader.look_at(self._content()).perceptual_hash, 16)

    def vector_in(self, space: Space) -> NDArray[np.float32]:
        """Its vector in a space of pictures.

        Raises:
            ConfigurationError, EmbeddingUnavailable, EmbeddingFailed: the model does not answer.
            InvalidInput: the model refuses it, or its file cannot be read.
        """
        opened = self._images.of(space)
        return opened.embed_pixels([self._images.render(opened, self._content())])[0]


class StoredPicture(AskedPicture):
    """A stored one; in the space that it is embedded in already it is not looked at again."""

    def __init__(
        self,
        images: ImageSpaceRegistry,
        reader: ImageLooker,
        place: Place,
        image: ImageFacts,
        *,
        graph: Graph,
        read_blob: Callable[[str], bytes],
    ) -> None:
        super().__init__(images, reader, lambda: read_blob(image.storage_key))
        self._place = place
        self._image = image
        self._graph = graph

    @property
    def own(self) -> Place:
        return self._place

    @cached_property
    def looks(self) -> int:
        """Its perceptual hash."""
        return int(self._image.perceptual_hash, 16)

    def vector_in(self, space: Space) -> NDArray[np.float32]:
        """Its vector in a space of pictures; see `AskedPicture`."""
        parts = vectors_in(self._graph, self._place.source_id, space)
        return parts[0].vector if parts else super().vector_in(space)
