"""Reading a document in its order."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.errors import Conflict, InvalidInput
from kg_api.mcp.answers import Listing, Paged, Pager, Passage, ToolAnswer, called, cite, kind_of
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.metadata import date_of
from kg_api.schemas.search import DocumentReading, Place
from kg_api.schemas.vocabulary import MAX_PARAGRAPH, MAX_TOKEN_BUDGET, SourceKind

NAME = "read_document"
DESCRIPTION = """\
Read a document in its order, from its beginning or from a place on. Go on with the cursor.

Use it for any document that list_documents or a hit names. For a few paragraphs around a hit \
get_source_context is enough; to find where something is said use search_sources."""


class ReadArguments(Paged):
    """What to read."""

    document: Annotated[str, Field(min_length=1, max_length=1101)]
    """Its name, ONTOLOGY/NAME or id; or a citation, to begin there."""
    ontology: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Which one, where several have the name."""
    start: Annotated[int, Field(strict=True, ge=0, le=MAX_PARAGRAPH)] | None = None
    """Paragraph to begin with, from 0."""


class ReadParagraph(Passage):
    """A paragraph in its place."""

    paragraph: int
    """Its number in reading order, from 0."""
    heading: list[str] | None = None
    """The headings above it, where they are others than before."""
    page: int | None = None
    ocr_confidence: float | None = None
    """Where OCR read it from a picture: how sure it is of the words, 0 to 1."""
    kind: SourceKind | None = None
    """`image`: its text stands for a picture, which search_images shows; unset: a passage."""


class ReadAnswer(ToolAnswer):
    """A stretch of a document."""

    ontology: str
    document: str
    document_id: str
    title: str | None = None
    """Where it is not the name."""
    date: str | None = None
    """When it was written."""
    uri: str | None = None
    paragraphs: list[ReadParagraph]
    """In reading order."""


def read(library: Library, arguments: ReadArguments) -> ReadAnswer:
    """Read on from a place."""
    walk = Pager(NAME, arguments)
    name, _ = called(arguments.document)
    before = max(walk.position.index - 1, 0)  # the last one given tells whether the document has changed
    first = arguments.start if arguments.cursor is None else before
    part = _read_part(library, name, arguments, first)
    about = part.document
    frame = ReadAnswer(
        ontology=about.ontology,
        document=about.document,
        document_id=about.document_id,
        title=None if about.title == about.document else about.title,
        date=date_of(about.metadata),
        uri=about.uri,
        paragraphs=[],
        degraded=part.degraded,
    )
    listing = Listing(
        _paragraphs(part.sources),
        [each.source_id for each in part.sources],
        "paragraphs",
        first=part.start,
        start=part.start,
        total=about.sources,
        remembered=1,
    )
    frame.paragraphs, frame.more = walk.step(frame, listing)
    return frame


def _read_part(library: Library, name: str, arguments: ReadArguments, first: int | None) -> DocumentReading:
    """The paragraphs from one on.

    Raises:
        Conflict: a cursor goes on behind the end, for the document has become shorter.
    """
    try:
        return library.reading(name, arguments.ontology, first, MAX_TOKEN_BUDGET)
    except InvalidInput:
        if arguments.cursor is None:
            raise
        effect = "the document has changed since the cursor was given, and is shorter; call again without it"
        raise Conflict(effect) from None


def _paragraphs(sources: list[Place]) -> list[ReadParagraph]:
    """Each names its headings where they change."""
    before = [None, *(each.heading for each in sources)]
    return [
        ReadParagraph(
            citation=cite(each.source_id, each.start, each.end),
            text=each.full_text,
            paragraph=each.paragraph,
            heading=None if each.heading == last else each.heading,
            page=each.page,
            ocr_confidence=each.ocr_confidence,
            kind=kind_of(each),
        )
        for each, last in zip(sources, before, strict=False)
    ]


TOOL = Tool(NAME, "Read a document", DESCRIPTION, ReadArguments, ReadAnswer, read)
