"""The model of a space of pictures, as the target of a pass uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, FileLost, InvalidInput
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.embedding.model import OpenedModel
from kg_api.provider.service import RejectedText
from kg_api.spaces.images.open_space import OpenImageSpace
from kg_api.spaces.images.registry import ImageSpaceRegistry

ReadBlob = Callable[[str], bytes]
"""Gives the file of a key, or raises FileLost."""


class ImageModel(OpenedModel[OpenImageSpace]):
    """Embeds files for one space of pictures."""

    remembers = False
    """There is no cache of pictures: what was embedded and not written is embedded again."""

    def __init__(
        self, spaces: ImageSpaceRegistry, space: Space, read: ReadBlob, *, requests_at_once: int = 1
    ) -> None:
        """Nothing is opened yet; `requests_at_once`: where its model is elsewhere."""
        super().__init__(space, requests_at_once)
        self._spaces = spaces
        self._read = read
        self.lost = set[str]()
        """Keys of files that are missing or damaged, for sure."""

    def embed(self, storage_keys: Sequence[str]) -> NDArray[np.float32]:
        """Embed the pictures in some files; shape (len(storage_keys), dimensions).

        Raises:
            RejectedText: one of them cannot be read, or is refused.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            Unavailable: the files cannot be had at the moment.
        """
        try:
            pixels = [self._spaces.render(self.opened, self._file(key)) for key in storage_keys]
            with self._alone:
                return self._checked(self.opened.embed_pixels(pixels))
        except (EmbeddingFailed, FileLost, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def _file(self, key: str) -> bytes:
        try:
            return self._read(key)
        except FileLost:
            self.lost.add(key)
            raise

    def _find(self) -> OpenImageSpace:
        return self._spaces.of(self._space)
