"""Stored pictures: listed, given out, and collected when nothing uses them any more."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from kg_api.errors import KgError
from kg_api.graph.database import Graph
from kg_api.graph.images.reads import find_image, list_images
from kg_api.images.files import StoredFiles
from kg_api.models.images import ImageType
from kg_api.models.queries.places import ImagePage

log = structlog.get_logger()

LOOKED_AT_A_REQUEST = 100
"""Files, after documents were deleted: a bucket deletes one after the other."""
THUMBNAIL_TYPE = "image/webp"


class ImageFile(NamedTuple):
    """A picture as it is given out."""

    content: bytes
    content_type: ImageType
    name: str
    """Of its document."""
    key: str
    """Its content's hash: the same key is the same content for ever."""


class ImageService:
    """Gives out what is kept."""

    def __init__(self, graph: Graph, files: StoredFiles) -> None:
        self._graph = graph
        self._files = files

    def page(self, *, ontology: str | None, offset: int, limit: int) -> ImagePage:
        """Some pictures in the order of their documents."""
        return list_images(self._graph, ontology=ontology, offset=offset, limit=limit)

    def file(self, source_id: str) -> ImageFile:
        """The picture itself.

        Raises:
            NotFound: there is no such picture.
            Conflict: several begin like that.
        """
        found = find_image(self._graph, source_id)
        content = self._files.read(found.storage_key)
        return ImageFile(content, found.content_type, found.document, found.storage_key)

    def thumbnail(self, source_id: str) -> ImageFile:
        """It as WebP, of at most 256 pixels a side.

        Raises:
            NotFound, Conflict: as `file` does.
        """
        found = find_image(self._graph, source_id)
        content = self._files.read(found.thumbnail_key)
        return ImageFile(content, THUMBNAIL_TYPE, found.document, found.thumbnail_key)

    def read_blob(self, key: str) -> bytes:
        """The file of a storage key.

        Raises:
            NotFound: it is not there.
            Unavailable: it cannot be read.
        """
        return self._files.read(key)

    def tidy(self) -> int:
        """Delete files that nothing uses, and what processes that died were writing; says how many.

        Raises:
            KgError: the database or the store does not answer; what is left is deleted the next time.
        """
        return self._files.sweep() + self._files.collect()

    def collect_after_delete(self) -> None:
        """Delete some files that nothing uses any more, for a client waits; `tidy` deletes the others.

        What was deleted is deleted all the same, so that a failure is only logged.
        """
        try:
            self._files.collect_some(LOOKED_AT_A_REQUEST)
        except KgError as error:
            log.warning("unused pictures stay until the next clean-up", reason=str(error))
