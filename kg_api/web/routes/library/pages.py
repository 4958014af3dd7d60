"""Pages of PDFs as pictures."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import StringConstraints
from starlette.routing import Match
from starlette.types import Scope

from kg_api.images.pages import PagePicture, PageRequest
from kg_api.models.base import Called, Text
from kg_api.models.images import DrawnPage
from kg_api.models.vocabulary import DEFAULT_PAGE_WIDTH, MAX_PAGE_WIDTH, MAX_QUERY_CHARACTERS, MIN_PAGE_WIDTH
from kg_api.web.dependencies import CalledDocument, OntologyFilter, Open
from kg_api.web.limits.strict_json import StrictRoute
from kg_api.web.routes.library.images import HEADERS, IfNoneMatch, file_name

PAGES, BOXED = "KG-Pages", "KG-Boxed-Words"
_NOT_QUOTED = re.compile(rb"/documents/[^?]+/pages/[0-9]+\.png(\?|$)")


class PageRoute(StrictRoute):
    """A document may be called `book/pages/1.png`: who asks for that one quotes the slashes of its name."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for a page."""
        if _NOT_QUOTED.search(scope.get("raw_path") or scope["path"].encode()) is None:
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(tags=["library"], route_class=PageRoute)

_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The page.",
        "headers": {
            PAGES: {"schema": {"type": "integer"}, "description": "Pages that the PDF has."},
            BOXED: {"schema": {"type": "integer"}, "description": "Words that were found on it, and boxed."},
        },
    },
    304: {"description": "It is the one that you have."},
}


@router.head("/documents/{document_id:path}/pages/{page}.png", include_in_schema=False)
@router.get(
    "/documents/{document_id:path}/pages/{page}.png",
    summary="Get a page of a PDF as a picture",
    response_class=Response,
    responses=_PICTURE,
)
def get_page(
    container: Open,
    document_id: CalledDocument,
    page: Annotated[int, Path(ge=0, le=10**9, description="Its number, from 1.")],
    *,
    source_id: Annotated[
        Called | None, Query(description="A source of it, such as a hit: its words are boxed.")
    ] = None,
    query: Annotated[
        Annotated[Text, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS)] | None,
        Query(description="Words that are boxed wherever they stand, as full text finds them."),
    ] = None,
    width: Annotated[
        int,
        Query(ge=MIN_PAGE_WIDTH, le=MAX_PAGE_WIDTH, description="In pixels; eight million in all at most."),
    ] = DEFAULT_PAGE_WIDTH,
    ontology: OntologyFilter = None,
    known: IfNoneMatch = None,
) -> Response:
    """Draw a page of a document that was ingested as a PDF.

    Words are boxed where they stand: a passage in yellow, words of `query` in orange. `KG-Boxed-Words` tells
    how many were found; of a passage that is on other pages it is 0.
    404: there is no such document or page, it is no PDF, or its file was not kept when it was ingested.
    """
    request = PageRequest(document_id, page, width, ontology, source_id, query)
    return _answer(request, container.pages.picture(request, known or ""))


def _answer(request: PageRequest, picture: PagePicture) -> Response:
    headers = {**HEADERS, "ETag": f'"{picture.key}"'}
    if picture.drawn is None:
        return Response(status_code=304, headers=headers)
    name = file_name(picture.document, f"-{request.page}.png")
    headers |= {"Content-Disposition": f"inline; filename*=UTF-8''{name}", **_describe(picture.drawn)}
    return Response(picture.drawn.content, media_type="image/png", headers=headers)


def _describe(drawn: DrawnPage) -> dict[str, str]:
    return {PAGES: str(drawn.pages), BOXED: str(drawn.boxed)}
