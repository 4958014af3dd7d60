from typing import Any

from kg_api.convert.image.embedded import read_image
from kg_api.graph.images import list_images
from kg_api.schemas.image_search import ImageHits, ImageScope, ImageSearch
from kg_api.schemas.images import ReadImage
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.search.images import ImageSearchService
from kg_api.search.service import SearchService
from kg_api.settings import ConversionSettings
from tests.support.album import Album

COLOURS = ("red", "green", "blue")


class Reader:
    def read_image(self, data: bytes) -> ReadImage:
        return read_image(data, ConversionSettings())


def ids(album: Album) -> dict[str, str]:
    page = list_images(album.graph, ontology=None, offset=0, limit=100)
    return {each.document: each.source_id for each in page.images}


def like(album: Album, content: bytes | None = None, **asked: Any) -> ImageHits:
    search = SearchService(album.graph, album.spaces, images=album.image_spaces)
    read = album.pictures.read
    service = ImageSearchService(album.graph, search, album.image_spaces, Reader(), read)
    try:
        if content is None:
            return service.search(ImageSearch.model_validate(asked))
        return service.search_like(content, ImageScope.model_validate(asked))
    finally:
        search.close()


def search(album: Album, text: str, **asked: Any) -> SourceHits:
    service = SearchService(album.graph, album.spaces, images=album.image_spaces)
    try:
        return service.search(SourceSearch.model_validate({"query_text": text, **asked}))
    finally:
        service.close()


def names(answer: ImageHits) -> list[str]:
    return [each.document for each in answer.images]


def effects(answer: ImageHits | SourceHits) -> str:
    return "; ".join(each.effect for each in answer.degraded)
