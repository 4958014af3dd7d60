"""Pages that were drawn lately, in memory: a page is asked for again while somebody reads it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import NamedTuple, Protocol

from kg_api.blobs.images import SingleFlight, StoredFiles, page_to_draw
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.images import Original, SourceOnPage, find_original, sources_of_page
from kg_api.graph.library import find_source
from kg_api.graph.names import identify_document
from kg_api.schemas.base import digest
from kg_api.schemas.images import DrawnPage, PageImage, PageToDraw
from kg_api.wording import pluralize

MAX_BYTES = 32 * 1024 * 1024
"""Of each process of the service: about a hundred pages of text."""


class PageCache:
    """Keeps the latest, no more than so many bytes of them. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._pages: OrderedDict[str, DrawnPage] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> DrawnPage | None:
        """A page that was put, if it is still there."""
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)

    def put(self, key: str, page: DrawnPage) -> None:
        """Keep a page; those that were not asked for longest go for it. One that is too large is not kept."""
        with self._lock:
            if key in self._pages or len(page.content) > self._max_bytes:
                return
            self._pages[key] = page
            self._bytes += len(page.content)
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._pages.popitem(last=False)[1].content)


# Pages of PDFs as pictures, with a hit's words marked.

DRAWN_BY = "1"
"""Another one, when pages are drawn otherwise: what others have kept is asked for again then."""


class PageDrawer(Protocol):
    """Draws pages of files that may be hostile."""

    def draw_page(self, read: Callable[[], bytes], wanted: PageToDraw) -> DrawnPage:
        """Draw one; without content, where there is no such page. The file is read when its turn comes."""
        ...

    def close(self) -> None:
        """Draw no more."""
        ...


class PagePicture(NamedTuple):
    """A page as it is given out."""

    key: str
    """The same key is the same picture for ever."""
    document: str
    drawn: DrawnPage | None
    """None: whoever asks has it already."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page, and what is to be marked on it."""

    called: str
    """The document."""
    page: int
    width: int
    ontology: str | None = None
    source_id: str | None = None
    query: str | None = None


class PageService:
    """Draws pages, each once while it is in memory, whoever asks for it meanwhile."""

    def __init__(self, graph: Graph, files: StoredFiles, drawer: PageDrawer) -> None:
        """Open it.

        Args:
            graph: says what stands on them.
            files: keeps the PDFs.
            drawer: its own, closed with it: who looks at a page does not wait for files that are taken in.
        """
        self._graph = graph
        self._files = files
        self._drawer = drawer
        self._cache = PageCache()
        self._flights = SingleFlight[DrawnPage]()

    def close(self) -> None:
        """End the process that draws."""
        self._drawer.close()

    def picture(self, request: PageRequest, known: str = "") -> PagePicture:
        """A page as a picture.

        Args:
            request: which one.
            known: keys of pictures that whoever asks has.

        Raises:
            NotFound: there is no such document, source or page, or no file of it was kept.
            InvalidInput: the source is of another document.
            UnreadableDocument: it cannot be drawn.
            TooBusy: too many others wait for pages.
        """
        original, wanted = self._asked(request)
        key = _key(original, wanted)
        drawn = None if key in known else self._drawn(key, original, wanted)
        return PagePicture(key, original.document, drawn)

    def image(self, request: PageRequest) -> PageImage:
        """As `picture`, as a client gets it."""
        original, wanted = self._asked(request)
        drawn = self._drawn(_key(original, wanted), original, wanted)
        return PageImage(drawn.content, request.page, drawn.pages, drawn.boxed)

    def _asked(self, request: PageRequest) -> tuple[Original, PageToDraw]:
        identity = identify_document(self._graph, request.called, request.ontology)
        original = find_original(self._graph, identity)
        return original, self._wanted(original, request)

    def _wanted(self, original: Original, request: PageRequest) -> PageToDraw:
        if request.source_id is None and request.query is None:
            return PageToDraw(request.page, request.width)
        sources = sources_of_page(self._graph, original.document_id, request.page)
        passage = None if request.source_id is None else self._passage(original, request.source_id, sources)
        return page_to_draw(request.page, request.width, sources, passage, request.query)

    def _passage(
        self, original: Original, called: str, sources: Sequence[SourceOnPage]
    ) -> SourceOnPage | None:
        """The source that is called so; None, where it stands on other pages."""
        found = find_source(self._graph, called)
        if found.document_id != original.document_id:
            where = f"{found.ontology}/{found.document}"
            raise InvalidInput(f"source_id: that source is of another document, {where!r}")
        return next((each for each in sources if each.source_id == found.source_id), None)

    def _drawn(self, key: str, original: Original, wanted: PageToDraw) -> DrawnPage:
        drawn = self._cache.get(key) or self._flights.do(key, partial(self._draw, key, original, wanted))
        if not drawn.content:
            pages = pluralize(drawn.pages, "page")
            raise NotFound(f"{original.document!r} has {pages}: there is no page {wanted.page}")
        return drawn

    def _draw(self, key: str, original: Original, wanted: PageToDraw) -> DrawnPage:
        if drawn := self._cache.get(key):  # by who ended after it was looked for
            return drawn
        drawn = self._drawer.draw_page(partial(self._files.read, original.key), wanted)
        if drawn.content:
            self._cache.put(key, drawn)
        return drawn


def _key(original: Original, wanted: PageToDraw) -> str:
    return digest("page", DRAWN_BY, original.key, repr(astuple(wanted)))
