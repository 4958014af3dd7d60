"""Client methods for images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kg_api.client.answers import read_page_image
from kg_api.client.call import Call, build_body, build_params, build_path, fields_of, get, get_file, post
from kg_api.client.sending import request
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.image_search import ImageHits, ImageScope, ImageSearch, RelatedSearch, RelatedSources
from kg_api.schemas.images import PageImage
from kg_api.schemas.search import ImagePage
from kg_api.schemas.vocabulary import SourceKind


class ImageMethods:
    @request
    def images(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> Call[ImagePage]:
        """List images by ontology and document, with the text that is used to find each."""
        return get(ImagePage, "images", ontology=ontology, offset=offset, limit=limit)

    @request
    def image(self, source_id: str) -> Call[bytes]:
        return get_file("images", source_id)

    @request
    def thumbnail(self, source_id: str) -> Call[bytes]:
        """Get an image as WebP, with up to 256 pixels on each side."""
        return get_file("images", source_id, "thumbnail")

    @request
    def page_image(
        self,
        document: str,
        page: int,
        *,
        source_id: str | None = None,
        query: str | None = None,
        width: int | None = None,
        ontology: str | None = None,
    ) -> Call[PageImage]:
        """Get a page from a PDF document as a PNG image.

        Args:
            document: Name, ONTOLOGY/NAME or id of the document.
            page: Page number, from 1.
            source_id: Source to box, such as a hit.
            query: Words to box wherever full-text search finds them.
            width: Width in pixels (default: 1200).
            ontology: Ontology of the document (default: any).
        """
        asked = {"source_id": source_id, "query": query, "width": width, "ontology": ontology}
        path, params = build_path("documents", document, "pages", f"{page}.png"), build_params(**asked)
        return Call("GET", path, PageImage, params=params, convert=partial(read_page_image, page))

    @request
    def related_sources(
        self,
        source_id: str,
        *,
        kinds: Sequence[SourceKind] | None = None,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        same_document: bool = False,
        limit: int = 10,
    ) -> Call[RelatedSources]:
        """Find passages for an image, or images for a passage.

        The options are the fields of RelatedSearch.
        """
        body = build_body(RelatedSearch, locals())
        return post(RelatedSources, "queries", "sources", source_id, "related", json=body)

    @request
    def search_images(
        self,
        query_text: str | None = None,
        *,
        source_id: str | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> Call[ImageHits]:
        """Find images using a text or a stored image. You can use the fields in ImageSearch as options."""
        body = build_body(ImageSearch, locals())
        return post(ImageHits, "queries", "images", "search", json=body)

    @request
    def search_by_image(
        self,
        file: bytes,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> Call[ImageHits]:
        """Find images using an image file. The file will not be stored.

        You can use the fields in ImageScope as options.
        """
        fields = fields_of(ImageScope, locals())
        files = {"file": ("picture", file)}
        return post(ImageHits, "queries", "images", "search", data=fields, files=files)
