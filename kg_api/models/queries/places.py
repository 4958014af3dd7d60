"""Sources, with their exact place and what is known of their document."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.base import Answer, Page
from kg_api.models.images import ImageType
from kg_api.models.library.metadata import MetadataValue
from kg_api.models.vocabulary import SourceKind


class ImageFacts(Answer):
    """What is known of a picture; `GET /images/{id}` gives the picture itself, by the source's id."""

    storage_key: str
    """The SHA-256 of its file: pictures with the same one are the same."""
    content_type: ImageType
    """By its content, whatever its name says."""
    width: int
    """In pixels, as it is shown."""
    height: int
    bytes: int
    """Of its file."""
    perceptual_hash: str
    """64 bits of what it looks like, in hexadecimal digits: near-duplicates differ in few of them."""


class SourcePlace(Answer):
    """Where a source is."""

    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    """Its number in reading order, from 0."""
    heading: list[str]
    """The path of headings above it."""
    start: int
    """Its first code point in the document's text."""
    end: int
    """Behind its last code point."""
    page: int | None = None
    """On which it begins, from 1; a slide or a sheet, too. None: its document has no pages."""
    last_page: int | None = None
    """On which it ends."""
    ocr: bool = False
    """Whether OCR read it, or a part of it, from a picture: its words may be wrong."""
    ocr_confidence: float | None = None
    """How sure OCR was of its words, from 0 to 1."""
    kind: SourceKind = "passage"
    """Of an image the text is the words that stand for it."""
    image: ImageFacts | None = None
    """The picture, of an image."""


class Place(SourcePlace):
    """A source and its exact place."""

    full_text: str


class WordMatch(Answer):
    """Where words of the question stand in a source: code points of its `full_text`, from 0.

    In its document they are at the source's `start` and so many code points more.
    """

    start: int
    end: int
    """Behind the last code point."""


class DescribedPlace(Place):
    """A source with what is known of its document."""

    title: str | None = None
    """Of the document."""
    uri: str | None = None
    """Where the document came from."""
    format: str | None = None
    """What kind of file the document is."""
    metadata: dict[str, MetadataValue] = Field(default_factory=dict[str, MetadataValue])
    """The document's: `author`, `date` and whatever else it or its sender says."""


class ImagePage(Page):
    """Pictures, ordered by ontology, document and place in it."""

    images: list[Place]


class ContextWindow(Answer):
    """Consecutive paragraphs of one document: the windows of its hits, merged where they touch."""

    document_id: str
    ontology: str
    document: str
    heading: list[str]
    """Of its first paragraph."""
    start: int
    end: int
    text: str
    """The document's text from `start` to `end`, unchanged."""
    source_ids: list[str]
    """Its paragraphs in reading order."""
    hits: list[str]
    """Those that were found, the best first."""
    tokens: int
    """By the tokenizer of the space's model, or estimated where that is not at hand."""
