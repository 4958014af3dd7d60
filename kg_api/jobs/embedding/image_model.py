"""The model of a space of pictures, as the target of a pass uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.port import Pixels
from kg_api.embed.known import IN_PROCESS
from kg_api.errors import EmbeddingFailed, InvalidInput, NotFound
from kg_api.graph.spaces.chunks import check_vector
from kg_api.graph.spaces.registry import Space
from kg_api.provider.service import RejectedText
from kg_api.spaces.images.open_space import OpenImageSpace
from kg_api.spaces.images.registry import ImageSpaceRegistry

ReadBlob = Callable[[str], bytes]
"""Gives the file of a key, or raises NotFound."""


class ImageModel:
    """Embeds files for one space of pictures; opened, and seen to be as ever, when it is first needed."""

    remembers = False
    """There is no cache of pictures: what was embedded and not written is embedded again."""

    def __init__(
        self, spaces: ImageSpaceRegistry, space: Space, read: ReadBlob, *, requests_at_once: int = 1
    ) -> None:
        """Nothing is opened yet; `requests_at_once`: where its model is elsewhere."""
        self.at_once = 1 if space.identity.provider in IN_PROCESS else requests_at_once
        self._alone = threading.Lock() if self.at_once == 1 else nullcontext()
        self._spaces = spaces
        self._space = space
        self._read = read

    @cached_property
    def opened(self) -> OpenImageSpace:
        """The space.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: its model does not answer as ever.
        """
        opened = self._spaces.of(self._space)
        opened.assure()
        return opened

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            As `opened`.
        """
        _ = self.opened

    def embed(self, storage_keys: Sequence[str]) -> NDArray[np.float32]:
        """Embed the pictures in some files; shape (len(storage_keys), dimensions).

        Raises:
            RejectedText: one of them cannot be read, or is refused.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            Unavailable: the files cannot be had at the moment.
        """
        try:
            pixels = [self._pixels(key) for key in storage_keys]
            with self._alone:
                vectors = self.opened.embed_pixels(pixels)
            for vector in vectors:
                check_vector(vector, self._space.dimensions)
        except (EmbeddingFailed, InvalidInput, NotFound) as error:
            raise RejectedText(str(error)) from error
        return vectors

    def check(self) -> None:
        """See that the model answers as it always did, so that a picture is at fault that it does not take.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not.
        """
        self.opened.check()

    def _pixels(self, storage_key: str) -> Pixels:
        return self._spaces.render(self.opened, self._read(storage_key))
