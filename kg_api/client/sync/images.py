# Written by scripts/unasync.py from ../asynchronous/images.py; change that, not this.
"""Pictures."""

from __future__ import annotations

from kg_api.client.call import get
from kg_api.client.sync.sending import Sending
from kg_api.models.base import Answer
from kg_api.models.queries.places import ImagePage


class ImageMethods(Sending):
    """Pictures, which are sources of their own."""

    def images(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> ImagePage:
        """List pictures by ontology and document, with the words that stand for them."""
        return self._send(get(ImagePage, "images", ontology=ontology, offset=offset, limit=limit))

    def image(self, source_id: str) -> bytes:
        """Get the file of a picture, by the id of its source."""
        return self._read_file(get(Answer, "images", source_id))

    def thumbnail(self, source_id: str) -> bytes:
        """Get a picture as WebP of at most 256 pixels a side."""
        return self._read_file(get(Answer, "images", source_id, "thumbnail"))
