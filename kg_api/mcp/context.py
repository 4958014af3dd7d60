"""Reading a cited place, and around it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.errors import Conflict, UnreadableDocument
from kg_api.mcp.answers import (
    CitationPlace,
    InlineImage,
    Listing,
    Paged,
    Pager,
    Passage,
    ToolAnswer,
    called,
    cite,
    kind_of,
)
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Answer
from kg_api.schemas.filters import Window
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import SourceKind

NAME = "get_source_context"
DESCRIPTION = """\
Read a passage among its neighbours, in the document's order.

Use it when a hit of search_sources is not enough by itself, or to check a quotation: `quote` is exactly the \
text that the citation stands for. It takes any citation, also `matched` and `parent` of a hit, bare \
source ids, and names of documents, which it opens at their beginning. To read on, cite the last paragraph, \
or ask for a larger window. `page` shows a page of a PDF as a picture: tables, formulas, figures."""

PAGE_WIDTHS = (1000, 700, 480, 320)
"""In pixels; the first that fits."""
MAX_PAGE_BYTES = 700_000
"""Of a picture: clients refuse answers of more than about a megabyte."""


class ContextArguments(Paged):
    """What to read."""

    citation: Annotated[str, Field(min_length=1, max_length=1101)]
    """A citation, a source's id, ONTOLOGY/DOCUMENT#PARAGRAPH, or a document's name or id: its beginning."""
    window: Window = 2
    """How many paragraphs before and after."""
    page: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = None
    """See this page of its PDF, too, the passage boxed; hits have `page`."""


class CitedPassage(Passage):
    """The text that a citation stands for."""

    kind: SourceKind | None = None
    """`image`: its text stands for a picture, which search_images shows; unset: a passage."""


class ContextParagraph(Passage):
    """A paragraph in its place."""

    paragraph: int
    """Its number in reading order, from 0."""
    heading: list[str] = Field(default_factory=list[str])
    """The headings above it, from the top."""
    kind: SourceKind | None = None
    """`image`: its text stands for a picture, which search_images shows; unset: a passage."""


class ShownPage(Answer):
    """A page whose picture stands behind this."""

    page: int
    pages: int
    """That the PDF has."""
    boxed: int
    """Words of the passage that were found on it."""


class ContextAnswer(ToolAnswer):
    """A cited place and its surroundings."""

    ontology: str
    document: str
    document_id: str
    moved: str | None = None
    """The place now, where the document has changed since it was cited."""
    quote: CitedPassage | None = None
    """Unset for a source's id, and when an earlier answer of this walk has given it."""
    page: ShownPage | None = None
    paragraphs: list[ContextParagraph]
    """In reading order; without the cited one where `quote` is that."""


def read(library: Library, arguments: ContextArguments) -> ContextAnswer:
    """Read around a place."""
    walk = Pager(NAME, arguments)
    source_id, citation = called(arguments.citation)
    context = library.context(source_id, arguments.window)
    around = context.sources
    source = next(each for each in around if each.source_id == context.source_id)
    now = citation and present(citation, source)
    quote = (
        []
        if now is None
        else [CitedPassage(citation=str(now), text=text_of(library, now, around), kind=kind_of(source))]
    )
    beside = [each for each in map(_paragraph, around) if now is None or each.citation != str(now)]
    frame = ContextAnswer(
        ontology=source.ontology,
        document=source.document,
        document_id=source.document_id,
        moved=None if now == citation else str(now),
        paragraphs=[],
    )
    if arguments.page is not None and arguments.cursor is None:
        _show(library, source, arguments.page, frame)
    items: list[CitedPassage | ContextParagraph] = [*quote, *beside]
    keys = [f"{type(each).__name__} {each.citation}" for each in items]
    given, frame.more = walk.step(frame, Listing[CitedPassage | ContextParagraph](items, keys, "passages"))
    frame.quote = next((each for each in given if isinstance(each, CitedPassage)), None)
    frame.paragraphs = [each for each in given if isinstance(each, ContextParagraph)]
    return frame


def present(citation: CitationPlace, source: Place) -> CitationPlace:
    """Where a cited place is now. A source keeps its id, and so its text, wherever in the document it moves.

    Raises:
        Conflict: the document has changed, and the place cannot be told any more.
    """
    if citation.end - citation.start == source.end - source.start:
        return CitationPlace(source.source_id, source.start, source.end)
    if citation.end <= source.start or source.end <= citation.start:
        whole = cite(source.source_id, source.start, source.end)
        raise Conflict(f"the document has changed since {citation} was cited; its paragraph is {whole} now")
    return citation


def text_of(library: Library, citation: CitationPlace, around: list[Place]) -> str:
    """The text of a place, given the paragraphs around its source; they follow each other without a gap.

    Raises:
        Conflict: the document ends before the place does.
    """
    begin = around[0].start
    if begin <= citation.start and citation.end <= around[-1].end:
        text = "".join(each.full_text for each in around)
        return text[citation.start - begin : citation.end - begin]
    text = library.document(around[0].document_id).text
    if citation.end > len(text):
        raise Conflict(f"the document has changed since {citation} was cited; it ends at {len(text)} now")
    return text[citation.start : citation.end]


def _show(library: Library, source: Place, page: int, answer: ContextAnswer) -> None:
    """Put the largest picture of a page that an agent takes behind the answer.

    Raises:
        UnreadableDocument: there is none.
    """
    for width in PAGE_WIDTHS:
        image = library.page(source.document_id, page, source.source_id, width)
        if len(image.content) <= MAX_PAGE_BYTES:
            answer.shown = [InlineImage(image.content, "image/png")]
            answer.page = ShownPage(page=page, pages=image.pages, boxed=image.boxed)
            return
    raise UnreadableDocument("the picture of this page is too large for an answer: ask without `page`")


def _paragraph(place: Place) -> ContextParagraph:
    return ContextParagraph(
        citation=cite(place.source_id, place.start, place.end),
        text=place.full_text,
        paragraph=place.paragraph,
        heading=place.heading,
        kind=kind_of(place),
    )


TOOL = Tool(NAME, "Read around a passage", DESCRIPTION, ContextArguments, ContextAnswer, read)
