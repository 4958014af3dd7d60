"""PDF pages as images with highlighted passages and keywords. Clients cache them by their key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import NamedTuple, Protocol

from kg_api.blobs.images import StoredFiles
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.fulltext import parse_question_words
from kg_api.graph.images import Original, SourceOnPage, find_original, list_sources_on_page
from kg_api.graph.library import find_source
from kg_api.graph.names import identify_document
from kg_api.schemas.base import compute_digest
from kg_api.schemas.documents import WordBox
from kg_api.schemas.images import DrawnPage, PageBox, PageImage, PageToDraw
from kg_api.wording import pluralize

DRAWN_BY = "1"  # change with the rendering, to invalidate the caches of clients


class PageDrawer(Protocol):
    """Renderer of pages from possibly hostile files."""

    def draw_page(self, read: Callable[[], bytes], wanted: PageToDraw) -> DrawnPage:
        """Render a page (empty if it does not exist). `read` is called when rendering starts."""
        ...

    def close(self) -> None: ...


class PagePicture(NamedTuple):
    key: str  # identifies the image, so a response can be cached forever
    document: str
    drawn: DrawnPage | None  # None: the client has this image


@dataclass(frozen=True, slots=True)
class PageRequest:
    called: str  # name or id of the document
    page: int
    width: int
    ontology: str | None = None
    source_id: str | None = None
    query: str | None = None


class PageService:
    def __init__(self, graph: Graph, files: StoredFiles, drawer: PageDrawer) -> None:
        self._graph = graph
        self._files = files
        self._drawer = drawer

    def close(self) -> None:
        self._drawer.close()

    def get_picture(self, request: PageRequest, known: str) -> PagePicture:
        """Return a page as an image. `known` has the keys of images that the client has cached."""
        original, wanted = self._find_page(request)
        key = compute_digest("page", DRAWN_BY, original.key, repr(astuple(wanted)))
        drawn = None if key in known else self._draw_page(original, wanted)
        return PagePicture(key, original.document, drawn)

    def get_image(self, request: PageRequest) -> PageImage:
        original, wanted = self._find_page(request)
        drawn = self._draw_page(original, wanted)
        return PageImage(drawn.content, request.page, drawn.pages, drawn.boxed)

    def _find_page(self, request: PageRequest) -> tuple[Original, PageToDraw]:
        identity = identify_document(self._graph, request.called, request.ontology)
        original = find_original(self._graph, identity)
        return original, self._build_page_to_draw(original, request)

    def _build_page_to_draw(self, original: Original, request: PageRequest) -> PageToDraw:
        if request.source_id is None and request.query is None:
            return PageToDraw(request.page, request.width)
        sources = list_sources_on_page(self._graph, original.document_id, request.page)
        passage = (
            None if request.source_id is None else self._find_passage(original, request.source_id, sources)
        )
        return build_page_to_draw(request.page, request.width, sources, passage, request.query)

    def _find_passage(
        self, original: Original, source_name: str, sources: Sequence[SourceOnPage]
    ) -> SourceOnPage | None:
        """Return the source, or None if the source is on other pages."""
        found = find_source(self._graph, source_name)
        if found.document_id != original.document_id:
            where = f"{found.ontology}/{found.document}"
            raise InvalidInput(f"source_id: that source is of another document, {where!r}")
        return next((each for each in sources if each.source_id == found.source_id), None)

    def _draw_page(self, original: Original, wanted: PageToDraw) -> DrawnPage:
        drawn = self._drawer.draw_page(partial(self._files.read, original.key), wanted)
        if not drawn.content:
            pages = pluralize(drawn.pages, "page")
            raise NotFound(f"page {wanted.page} not found: {original.document!r} has {pages}")
        return drawn


def build_page_to_draw(
    page: int, width: int, sources: Sequence[SourceOnPage], passage: SourceOnPage | None, query: str | None
) -> PageToDraw:
    read = [] if passage is None else passage.words(page)
    words, hits = list[str](), list[WordBox]()
    question = parse_question_words(query) if query else None
    for source in sources if question else ():
        on_page = source.words(page)
        for start, end in question.find(source.full_text) if question else ():
            begin, stop = source.start + start, source.start + end
            hits += [each for each in on_page if each.start < stop and begin < each.end]
            words += [] if on_page else [source.full_text[start:end]]
    passage_boxes, word_boxes = (
        tuple(PageBox(each.left, each.top, each.right, each.bottom) for each in boxes)
        for boxes in (read, hits)
    )
    return PageToDraw(
        page,
        width,
        passage="" if passage is None or read else passage.full_text,
        words=tuple(dict.fromkeys(words)),
        passage_boxes=passage_boxes,
        word_boxes=word_boxes,
    )
