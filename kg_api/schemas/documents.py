"""Documents and sources during ingestion, storage, listing, and review."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints, model_validator

from kg_api.schemas.base import VISIBLE, Answer, Body, DocumentName, Flag, OntologyName, Page, Text, hash_text
from kg_api.schemas.formats import Format, OcrMode
from kg_api.schemas.images import FoundImage, StoredImage
from kg_api.schemas.metadata import FileTime, GivenMetadata, MetadataValue
from kg_api.schemas.problems import Problem

MAX_MESSAGES = 10_000
MAX_AUTHOR = 200
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d")


def _require_written_date(value: Any) -> Any:
    """Return the value. Raise ValueError for a number, which can be seconds, milliseconds, or a year."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_AND_TIME.match(value)):
        return value
    raise ValueError("is not an ISO 8601 date and time, such as 2026-03-01T09:30:00+01:00")


Author = Annotated[Text, StringConstraints(min_length=1, max_length=MAX_AUTHOR), *VISIBLE]
Timestamp = Annotated[AwareDatetime, BeforeValidator(_require_written_date)]
"""Time with a time zone. Without one, the moment is ambiguous."""


class Message(Body):
    author: Author
    timestamp: Timestamp | None = None
    """Time in ISO 8601 with a time zone. The document contains it unchanged."""
    text: Text
    """Text or Markdown. Headings do not become headings of the document."""


Messages = Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]


class Conversation(Body):
    """Messages to store as one Markdown document."""

    ontology: OntologyName
    title: Annotated[DocumentName, *VISIBLE]
    """Title and name. The same title replaces the document, and kg embeds only new messages."""
    messages: Messages
    metadata: GivenMetadata = Field(default_factory=dict)


# Output of parsers and of the splitter. Offsets are code points of `text`, end excluded.

BlockKind = Literal[
    "heading", "paragraph", "list_item", "code", "program", "table", "markup", "image", "other"
]
"""`program` is program text, settings, or logs: split as code, and its comments can be prose. `image` is the
text of an image, which is always one whole source. `markup` can have text between its marks: HTML, a
directive, a footnote, or front matter. `other` is not for reading: rules, comments, or HTML with a script."""


@dataclass(frozen=True, slots=True)
class Block:
    """Part of a document. Blocks are in order and do not overlap. Whitespace can separate them."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # Level of a heading, from 1. 0: not a heading.
    title: str = ""
    scope: tuple[str, ...] | None = None
    """Classes and functions that contain the text from this block on, outermost first."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Unchanged text of a document and its structure."""

    text: str
    title: str
    format: Format
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    body: int = 0  # Start of the passages. Front matter precedes it.
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])


class SourceBlock(NamedTuple):
    """Block of a source, or a part of a block. It ends where the next block starts."""

    kind: BlockKind
    start: int  # offset in the source's text


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Span of one source: `text[start:end]`. The spans of a document cover its whole text."""

    start: int
    end: int
    heading: tuple[str, ...]


# Stored ontologies, documents, and sources, and their answers

Change = Literal["created", "updated", "unchanged", "waiting"]  # `waiting`: pending approval


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Stored source. `start` and `end` are code points of the document's text, end excluded."""

    source_id: str
    paragraph: int
    heading: tuple[str, ...]
    full_text: str
    content_hash: str
    start: int
    end: int
    blocks: tuple[SourceBlock, ...] = ()
    page: int | None = None  # First page, slide, or sheet, from 1. None: the document has no pages.
    last_page: int | None = None
    ocr_confidence: float | None = None  # Confidence of OCR from 0 to 1. None: the text is in the file.
    word_boxes: bytes | None = None
    """Positions of OCR words on their pages, by `pack`. Answers do not contain them."""
    image: StoredImage | None = None  # Image of the source. The source's text describes it.


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """Stored document with its sources in reading order."""

    document_id: str
    ontology: str
    document: str
    title: str
    uri: str | None
    format: Format
    content_hash: str
    characters: int
    metadata: str  # JSON object
    sources: tuple[SourceRecord, ...]
    preface: str = ""  # text before the first source, such as front matter
    waits_as: str | None = None  # input of a document that must wait for approval
    approves: str | None = None  # version of the pending document that this approves
    original: str | None = None  # key of the original file, if kg stores it
    hold: str | None = None  # hold that protects the files until the document is stored or pending
    sent_hash: str | None = None  # of the file that was sent, with the options of the request
    has_file_time: bool = False
    """Whether `metadata` has the modification time of the file. `content_hash` does not include the time."""

    @property
    def text_hash(self) -> str:
        images = (source.image.storage_key for source in self.sources if source.image)
        if self.format == "image":
            return hash_text("", images)
        return hash_text(self.preface, chain((source.content_hash for source in self.sources), images))


@dataclass(frozen=True, slots=True)
class StoredChange:
    change: Change
    added: int
    kept: int
    removed: int
    replaced_uri: str | None  # previous URI of a document with this name, if different
    same_text: tuple[str, ...] = ()
    """First other documents of the ontology with the same text. Empty for an unchanged document."""


class DocumentRequest(Body):
    ontology: OntologyName
    document: DocumentName
    """Name in the ontology. The same name replaces the document. Default for an upload: name of the file."""
    format: Format | None = None
    """Format. Default: from the extension of the name, or plain text."""
    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """Title. Full-text search finds it. Default: title in the document, or its name."""
    uri: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    metadata: GivenMetadata = Field(default_factory=dict)
    modified: FileTime | None = None
    """Modification time of the file (ISO 8601). kg stores it in the metadata as `modified`, unless the
    document or `metadata` contains a date (`date`, `modified`, `published`, `updated`, or `created`). A new
    time alone does not change the document."""
    review: bool = False
    """Whether the document waits for approval. Until then, kg does not embed, extract, or find it."""


class DocumentUpload(DocumentRequest):
    ocr: OcrMode = "auto"
    """Pages of a PDF for OCR: `auto` pages without readable text, `always` all, `never` none."""


class DocumentChange(Body):
    """Change of a document's properties. Its text and omitted properties stay."""

    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    uri: Annotated[Text, StringConstraints(min_length=1, max_length=4000)] | None = None
    metadata: GivenMetadata = Field(default_factory=dict)
    """Changes by key. Null deletes a key."""


class DocumentText(DocumentRequest):
    text: Text


class SourceChanges(Answer):
    added: int
    kept: int
    removed: int


class DocumentRef(Answer):
    document_id: str
    ontology: str
    document: str


class Ingested(DocumentRef):
    """Ingested document. Full-text search finds it at once, vector search after the job."""

    title: str
    change: Change
    sources: SourceChanges
    job_id: str | None = None
    duplicate_of: str | None = None
    notes: list[str] = Field(default_factory=list[str])


class DocumentSummary(DocumentRef):
    title: str
    uri: str | None
    format: str
    characters: int
    sources: int
    updated_at: datetime
    metadata: dict[str, MetadataValue]


class DocumentChanged(DocumentSummary):
    job_id: str | None = None
    """Job that re-embeds the document. Null if its embeddings do not depend on the change."""
    notes: list[str] = Field(default_factory=list[str])


class DocumentPage(Page):
    documents: list[DocumentSummary]


class DocumentContent(DocumentSummary):
    text: str


class OntologySummary(Answer):
    ontology: str
    space: str
    documents: int
    sources: int
    images: int = 0
    embedded: int
    stale: int
    refused: int = 0
    searchable: int = 0
    """Number of sources that vector search finds now."""
    building: bool = False
    """Whether kg builds another space or chunking while the current one answers."""
    languages: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of documents by detected language, such as `german`, or `unknown`."""
    created_at: datetime | None = None
    """Time of creation in this database. For an imported ontology, this is the time of the import."""
    notes: list[str] = Field(default_factory=list[str])
    """Note on documents in languages that the embedding model does not support."""


class OntologyList(Answer):
    ontologies: list[OntologySummary]
    waiting: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of documents that wait for approval, by ontology. It includes ontologies without documents."""


class Deleted(Answer):
    """Numbers of deleted documents and sources. A missing item returns zeros and a note."""

    documents: int
    sources: int
    notes: list[str] = Field(default_factory=list[str])


class VectorCounts(Answer):
    """Numbers of current and missing vectors of sources, concepts, images, or relationships."""

    total: int
    embedded: int
    missing: int
    stale: int
    """Vectors of another text, model, or configuration than the current one."""
    refused: int = 0
    """Items that the model rejects. `GET /ontologies/{ontology}/rejected` lists the reasons."""


class ConceptCounts(VectorCounts):
    deferred: int = 0
    """Concepts of a single source. kg embeds them on the first vector search for concepts of the ontology."""


class EmbeddingStatus(VectorCounts):
    ontology: str | None
    searchable: int = 0
    """Number of items that vector search finds now, with current or stale vectors."""
    building: bool = False
    """Whether kg builds a new configuration. Then `embedded` counts new vectors and `searchable` old ones."""
    languages: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of documents by detected language, such as `german`, or `unknown`."""
    concepts: ConceptCounts | None = None
    images: VectorCounts | None = None
    edges: VectorCounts | None = None


# Batches of documents

MAX_DOCUMENTS_A_BATCH = 1000

_AS_MANY = Field(min_length=1, max_length=MAX_DOCUMENTS_A_BATCH)


class DocumentBatch(Body):
    documents: Annotated[list[DocumentText], _AS_MANY]
    """Documents with separate results. Repetitions of an ontology and name are rejected."""


class GivenBatch(Body):
    """Batch before validation. An invalid document does not affect the others."""

    documents: Annotated[list[Any], _AS_MANY]


class DocumentOutcome(Answer):
    ingested: Ingested | None = None
    problem: Problem | None = None


class IngestedBatch(Answer):
    outcomes: list[DocumentOutcome]


# Documents that wait for approval

MAX_WAITING = 10_000
MAX_REVIEWED = 1000


class WaitingDocument(DocumentRef):
    """Document that waits for approval. kg does not embed, extract, or find it."""

    title: str
    format: str
    characters: int
    sources: int
    given_at: datetime
    beginning: str
    """First 300 characters of the text."""
    replaces: bool
    """Whether a stored document has this name. It stays unchanged until approval."""


class WaitingDocuments(Page):
    documents: list[WaitingDocument]


class Review(Body):
    ontology: OntologyName
    documents: Annotated[list[DocumentName], Field(min_length=1, max_length=MAX_REVIEWED)] | None = None
    all: Flag = False
    """All pending documents instead of names. Each request processes a portion."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.all == (self.documents is not None):
            raise ValueError("name documents, or say `all`: one of the two")
        return self


class Approval(Review):
    after: DocumentName | None = None
    """With `all`: `next` of the previous response."""


class Approved(Answer):
    """Results of an approval. A document that cannot be stored stays pending."""

    outcomes: list[DocumentOutcome]
    unknown: list[str] = Field(default_factory=list[str])
    """Names without a pending document."""
    next: str | None = None
    """With `all`: value of `after` for the next portion. Null at the end."""


class Rejected(Answer):
    rejected: int
    unknown: list[str] = Field(default_factory=list[str])
    waiting: int


# Positions of OCR words on their pages

_ROW = struct.Struct("!IHIHHHHB")
_FORMAT = b"\x01"
MAX_WORDS = 20_000


class WordBox(NamedTuple):
    """Word with its code points and its sides in ten thousandths of the page."""

    start: int
    end: int
    page: int
    left: int
    top: int
    right: int
    bottom: int
    confidence: int  # confidence in percent


def compute_mean_word_confidence(boxes: Sequence[WordBox]) -> float | None:
    """Compute the mean confidence from 0 to 1, weighted by word length. None without words."""
    letters = sum(box.end - box.start for box in boxes)
    if not letters:
        return None
    return round(sum((box.end - box.start) * box.confidence for box in boxes) / letters / 100, 3)


def pack(boxes: Sequence[WordBox], start: int) -> bytes:
    """Return the words in about nine bytes each, with offsets from `start`."""
    rows = (
        _ROW.pack(box.start - start, box.end - box.start, box.page, *box[3:]) for box in boxes[:MAX_WORDS]
    )
    return _FORMAT + zlib.compress(b"".join(rows), 9)


def unpack(packed: bytes, start: int) -> list[WordBox]:
    """Return packed words. Raise ValueError if a later version of kg packed them."""
    if packed[:1] != _FORMAT:
        raise ValueError("these word boxes were packed by a later version of kg")
    rows = _ROW.iter_unpack(zlib.decompress(packed[1:]))
    return [WordBox(start + row[0], start + row[0] + row[1], *row[2:]) for row in rows]


# Files converted to Markdown


@dataclass(frozen=True, slots=True)
class Converted:
    """File as Markdown, with headings, lists, tables, and code."""

    text: str
    title: str = ""  # Title in the file. Empty: first heading, or name.
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    """Properties such as `author`, `date` (of writing, ISO 8601), `language`, `subject`, and `tags`."""
    pages: tuple[int, ...] = ()
    """Offset of each page, slide, or sheet in `text`, in code points from 0. Empty: no pages."""
    notes: tuple[str, ...] = ()
    pictures: tuple[int, ...] = ()
    """Pages, from 1, with content but no text. If all pages are such, `text` is empty."""
    unreadable: tuple[int, ...] = ()  # pages, from 1, with skipped text in an unknown encoding
    words: tuple[WordBox, ...] = ()
    images: tuple[FoundImage, ...] = ()  # Images in reading order. `text` contains the text of each.
