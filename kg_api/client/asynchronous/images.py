"""Pictures."""

from __future__ import annotations

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import get
from kg_api.models.base import Answer
from kg_api.models.queries.places import ImagePage


class AsyncImageMethods(AsyncSending):
    """Pictures, which are sources of their own."""

    async def images(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> ImagePage:
        """List pictures by ontology and document, with the words that stand for them."""
        return await self._send(get(ImagePage, "images", ontology=ontology, offset=offset, limit=limit))

    async def image(self, source_id: str) -> bytes:
        """Get the file of a picture, by the id of its source."""
        return await self._read_file(get(Answer, "images", source_id))

    async def thumbnail(self, source_id: str) -> bytes:
        """Get a picture as WebP of at most 256 pixels a side."""
        return await self._read_file(get(Answer, "images", source_id, "thumbnail"))
