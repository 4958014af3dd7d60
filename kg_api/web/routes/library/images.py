"""Pictures: listed, and given out as the files that they are."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, get_args
from urllib.parse import quote

from fastapi import APIRouter, Header, Response

from kg_api.images.service import ImageFile
from kg_api.models.images import ImageType
from kg_api.models.queries.places import ImagePage
from kg_api.web.access.caching import OWN
from kg_api.web.dependencies import Offset, OntologyFilter, Open, PageSize, SourceId
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["library"], route_class=StrictRoute)

SUFFIXES: dict[ImageType, str] = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/tiff": ".tif",
    "image/bmp": ".bmp",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": OWN,
}
"""A picture may be a page as well; no browser is to take it for one."""
MAX_NAME = 100


def _file_of(*types: str) -> dict[int | str, dict[str, Any]]:
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {"content": dict.fromkeys(types, schema), "description": "The picture."},
        304: {"description": "It is the one that you have."},
    }


IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1000, description="The ETag of an earlier answer.")
]


@router.get("/images", summary="List pictures")
def list_images(
    container: Open, ontology: OntologyFilter = None, offset: Offset = 0, limit: PageSize = 100
) -> ImagePage:
    """Give pictures ordered by ontology and document, with the words that stand for them."""
    return container.images.page(ontology=ontology, offset=offset, limit=limit)


@router.head("/images/{source_id:path}/thumbnail", include_in_schema=False)
@router.get(
    "/images/{source_id:path}/thumbnail",
    summary="Get the thumbnail of a picture",
    response_class=Response,
    responses=_file_of("image/webp"),
)
def get_thumbnail(container: Open, source_id: SourceId, known: IfNoneMatch = None) -> Response:
    """Give a picture as WebP, of at most 256 pixels a side, upright, without what its file says of itself."""
    return _answer(container.images.thumbnail(source_id), known)


@router.head("/images/{source_id:path}", include_in_schema=False)
@router.get(
    "/images/{source_id:path}",
    summary="Get a picture",
    response_class=Response,
    responses=_file_of(*get_args(ImageType)),
)
def get_image(container: Open, source_id: SourceId, known: IfNoneMatch = None) -> Response:
    """Give the file of a picture as it was ingested, without the place where it was taken.

    The content type is that of its content. It comes as an attachment, for browsers to save and not to run.
    404: there is no such picture; a passage of text is none.
    """
    return _answer(container.images.file(source_id), known)


def _answer(file: ImageFile, known: str | None) -> Response:
    tag = f'"{file.key}"'
    headers = {**HEADERS, "ETag": tag}
    if known is not None and tag in known:
        return Response(status_code=304, headers=headers)
    name = file_name(file.name, SUFFIXES[file.content_type])
    headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
    return Response(file.content, media_type=file.content_type, headers=headers)


def file_name(document: str, suffix: str) -> str:
    """What a browser may save it as, for a header."""
    return quote(f"{_stem(document)}{suffix}", safe="")


def _stem(document: str) -> str:
    """The last part of a document's name, without what no file system takes."""
    stem = PurePosixPath(document.replace("\\", "/")).stem
    return "".join(each for each in stem if each.isprintable())[:MAX_NAME].strip(". ") or "picture"
