"""Documents and sources: as they are ingested, parsed, stored, listed and reviewed."""

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

from kg_api.schemas.base import VISIBLE, Answer, Body, DocumentName, Flag, OntologyName, Page, Text, text_hash
from kg_api.schemas.formats import Format, OcrMode
from kg_api.schemas.images import FoundImage, StoredImage
from kg_api.schemas.metadata import FileTime, Metadata, MetadataValue
from kg_api.schemas.problems import Problem

MAX_MESSAGES = 10_000
MAX_AUTHOR = 200
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d")


def _is_written_out(value: Any) -> Any:
    """Refuse numbers: whether they are seconds, milliseconds or a year, nobody can tell."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_AND_TIME.match(value)):
        return value
    raise ValueError("is no date and time as ISO 8601 has it, such as 2026-03-01T09:30:00+01:00")


Author = Annotated[Text, StringConstraints(min_length=1, max_length=MAX_AUTHOR), *VISIBLE]
Timestamp = Annotated[AwareDatetime, BeforeValidator(_is_written_out)]
"""With its zone: a time without one is another moment elsewhere."""


class Message(Body):
    """What somebody said."""

    author: Author
    timestamp: Timestamp | None = None
    """When, as ISO 8601 with a zone; it is written into the document as it is given."""
    text: Text
    """Any text, Markdown or not. Its headings do not become headings of the document."""


Messages = Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]


class Conversation(Body):
    """Messages that are stored as one Markdown document."""

    ontology: OntologyName
    title: Annotated[DocumentName, *VISIBLE]
    """The document's title and name; the same again replaces it, and only new messages are embedded."""
    messages: Messages
    metadata: Metadata = Field(default_factory=dict)


# What a parser gives and what the splitter makes of it. Offsets are code points of `text`, end excluded.

BlockKind = Literal[
    "heading", "paragraph", "list_item", "code", "program", "table", "markup", "image", "other"
]
"""`program` is of files of program text, settings or logs: split as code, and its comments may be prose.
`image` is the words of a picture, which is a source of its own, whole and alone.
`markup` may have text between the marks of its format: HTML, a directive, a footnote, a head's fields.
`other` is not for reading: rules, comments, HTML that holds code or a script."""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a document. Blocks are in order and do not overlap; blank text may lie between."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """1 for the highest heading; 0 for what is not a heading."""
    title: str = ""
    scope: tuple[str, ...] | None = None
    """From here on a program's text is in these classes and functions, the outermost first."""


class CodeScope(NamedTuple):
    """A part of a program, to where the next one begins."""

    start: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's text, untouched, and its structure."""

    text: str
    title: str
    format: Format
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    body: int = 0
    """Where its passages begin; what stands before is said of the document, as its front matter."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])


class SourceBlock(NamedTuple):
    """A block of a source, or a part of one; it ends where the next one begins."""

    kind: BlockKind
    start: int
    """In the source's text."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """The place of one source: `text[start:end]`; the spans of a document join to its whole text."""

    start: int
    end: int
    heading: tuple[str, ...]


# Ontologies, documents and sources, as they are stored and as they are told.

Change = Literal["created", "updated", "unchanged", "skipped", "waiting"]
"""Skipped: not stored, for another says the same and `duplicates` is skip. Waiting: until it is approved."""
Duplicates = Literal["keep", "skip"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One source as it is stored. `start` and `end` are code points of the document's text, end excluded."""

    source_id: str
    paragraph: int
    heading: tuple[str, ...]
    full_text: str
    content_hash: str
    start: int
    end: int
    blocks: tuple[SourceBlock, ...] = ()
    page: int | None = None
    """On which it begins, from 1; a slide or a sheet, too. None: its document has no pages."""
    last_page: int | None = None
    ocr_confidence: float | None = None
    """How sure OCR was of its words, from 0 to 1. None: its words are the file's own."""
    word_boxes: bytes | None = None
    """Where the words that OCR read stand on their page, by `word_boxes.pack`; no answer holds them."""
    image: StoredImage | None = None
    """The picture that it is; its text are the words that stand for it."""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """One document as it is stored, with all its sources in reading order."""

    document_id: str
    ontology: str
    document: str
    title: str
    uri: str | None
    format: Format
    content_hash: str
    characters: int
    metadata: str
    """A JSON object."""
    sources: tuple[SourceRecord, ...]
    preface: str = ""
    """The text before the first source, such as front matter, which is no passage."""
    skip_duplicate: bool = False
    """Whether it is left out, if it is new and another document says the same."""
    waits_as: str | None = None
    """What it was given as, if it shall wait for approval."""
    approves: str | None = None
    """The version of what waited and is approved by this."""
    original: str | None = None
    """The key of the file that it was made of, where that is kept."""
    hold: str | None = None
    """What keeps its files until it is stored or waits."""
    has_file_time: bool = False
    """Whether `metadata` has the time of its file, which `content_hash` is not of."""

    @property
    def text_hash(self) -> str:
        images = (source.image.storage_key for source in self.sources if source.image)
        if self.format == "image":
            return text_hash("", images)
        return text_hash(self.preface, chain((source.content_hash for source in self.sources), images))


@dataclass(frozen=True, slots=True)
class StoredChange:
    """What storing a document did."""

    change: Change
    added: int
    kept: int
    removed: int
    replaced_uri: str | None
    """The file this name stood for before, when it was another one."""
    same_text: tuple[str, ...] = ()
    """The first other documents of the ontology that say the same; not asked of one that is unchanged."""


class DocumentRequest(Body):
    ontology: OntologyName
    document: DocumentName
    """Its name in this ontology; the same name again replaces it. Unset in an upload: the file's name."""
    format: Format | None = None
    """Unset: by the name's ending, else plain text."""
    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """What it is called; full text finds it. Unset: what the document itself says, else its name."""
    uri: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    metadata: Metadata = Field(default_factory=dict)
    modified: FileTime | None = None
    """When its file was last changed (ISO 8601). It is stored in the metadata as `modified`, unless the
    document or `metadata` states a date (`date`, `modified`, `published`, `updated`, `created`). Another
    time alone does not make the document a changed one."""
    duplicates: Duplicates = "keep"
    """Of a new document that says what another of the ontology says: keep it, or skip it."""
    review: bool = False
    """Whether it waits until it is approved: nothing of it is embedded, read for concepts or found."""


class DocumentUpload(DocumentRequest):
    ocr: OcrMode = "auto"
    """Pages of a PDF that OCR reads: `auto` those without readable text, `always` all, `never` none."""


class DocumentChange(Body):
    """What is changed of a document; its text stays, and so does what is not named here."""

    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    uri: Annotated[Text, StringConstraints(min_length=1, max_length=4000)] | None = None
    metadata: Metadata = Field(default_factory=dict)
    """Key by key; null deletes one."""


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
    """What became of a document. Full text finds its sources now, meaning does when the job is done."""

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
    """The job that embeds it anew, where the contexts of its chunks use what changed; else none."""
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
    """Sources that are found by meaning at this moment."""
    building: bool = False
    """Whether another space or chunking is being built, while the present one answers."""


class OntologyList(Answer):
    ontologies: list[OntologySummary]
    waiting: dict[str, int] = Field(default_factory=dict[str, int])
    """By ontology, how many documents wait for approval, also where there is none of it yet."""


class Deleted(Answer):
    """What was deleted; zeros and a note when there was nothing, so that deleting twice is harmless."""

    documents: int
    sources: int
    notes: list[str] = Field(default_factory=list[str])


class VectorCounts(Answer):
    """How many sources, concepts, images or relationships have the vector they should have."""

    total: int
    embedded: int
    missing: int
    stale: int
    """Embedded, but with another text, model or configuration than the present one."""
    refused: int = 0
    """Set aside, for the model does not take them; `GET /ontologies/{ontology}/refused` says why."""


class ConceptCounts(VectorCounts):
    deferred: int = 0
    """Carried by a single source; embedded when somebody asks for the ontology's concepts by meaning."""


class EmbeddingStatus(VectorCounts):
    ontology: str | None
    searchable: int = 0
    """Found by meaning at this moment, as they shall be or as they were."""
    building: bool = False
    """Whether others answer than those that are being made: embedded counts the new, searchable the old."""
    concepts: ConceptCounts | None = None
    images: VectorCounts | None = None
    edges: VectorCounts | None = None


# Many documents in one request, each with its own outcome.

MAX_DOCUMENTS_A_BATCH = 1000

_AS_MANY = Field(min_length=1, max_length=MAX_DOCUMENTS_A_BATCH)


class DocumentBatch(Body):
    documents: Annotated[list[DocumentText], _AS_MANY]
    """Each is refused alone. Of two that have one ontology and name, the later one is."""


class GivenBatch(Body):
    """A batch as it was sent: what is wrong with one document concerns no other."""

    documents: Annotated[list[Any], _AS_MANY]


class DocumentOutcome(Answer):
    ingested: Ingested | None = None
    problem: Problem | None = None


class IngestedBatch(Answer):
    outcomes: list[DocumentOutcome]


# Documents that wait until somebody approves them.

MAX_WAITING = 10_000
MAX_REVIEWED = 1000


class WaitingDocument(DocumentRef):
    """A document that waits; nothing of it is embedded, read or found."""

    title: str
    format: str
    characters: int
    sources: int
    given_at: datetime
    beginning: str
    """The first 300 characters of its text."""
    replaces: bool
    """Whether a document of that name is stored, which stays as it is until this one is approved."""


class WaitingDocuments(Page):
    documents: list[WaitingDocument]


class Review(Body):
    ontology: OntologyName
    documents: Annotated[list[DocumentName], Field(min_length=1, max_length=MAX_REVIEWED)] | None = None
    all: Flag = False
    """All that wait, in place of names; a portion a request."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.all == (self.documents is not None):
            raise ValueError("name documents, or say `all`: one of the two")
        return self


class Approval(Review):
    after: DocumentName | None = None
    """With `all`: where the last request came to, its `next`."""


class Approved(Answer):
    """What became of documents that were approved; one that could not be stored waits on."""

    outcomes: list[DocumentOutcome]
    unknown: list[str] = Field(default_factory=list[str])
    """Names under which nothing waits."""
    next: str | None = None
    """With `all`: what to send as `after` for the next portion; none at the end."""


class Rejected(Answer):
    rejected: int
    unknown: list[str] = Field(default_factory=list[str])
    waiting: int


# Where the words of a page that OCR read stand on it, and how they are kept with a source.

_ROW = struct.Struct("!IHIHHHHB")
_FORMAT = b"\x01"
MAX_WORDS = 20_000


class WordBox(NamedTuple):
    """A word and its place; both ends are code points, the sides are in ten thousandths of the page."""

    start: int
    end: int
    page: int
    left: int
    top: int
    right: int
    bottom: int
    confidence: int
    """In hundredths."""


def mean_of(boxes: Sequence[WordBox]) -> float | None:
    """Give the confidence of words together, by letters, from 0 to 1; None of none."""
    letters = sum(box.end - box.start for box in boxes)
    if not letters:
        return None
    return round(sum((box.end - box.start) * box.confidence for box in boxes) / letters / 100, 3)


def pack(boxes: Sequence[WordBox], start: int) -> bytes:
    """Make about nine bytes of each word; its places are counted from `start` then."""
    rows = (
        _ROW.pack(box.start - start, box.end - box.start, box.page, *box[3:]) for box in boxes[:MAX_WORDS]
    )
    return _FORMAT + zlib.compress(b"".join(rows), 9)


def unpack(packed: bytes, start: int) -> list[WordBox]:
    """Return the words again; raise ValueError if a later version has packed them."""
    if packed[:1] != _FORMAT:
        raise ValueError("these word boxes were packed by a later version of kg")
    rows = _ROW.iter_unpack(zlib.decompress(packed[1:]))
    return [WordBox(start + row[0], start + row[0] + row[1], *row[2:]) for row in rows]


# What a file that is no plain text becomes: Markdown, and what the file says of itself.


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as Markdown; its headings, lists, tables and code are told by Markdown's own marks."""

    text: str
    title: str = ""
    """What the file itself says; nothing: its first heading, or its name."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    """`author`, `date` (when it was written, ISO 8601), `language`, `subject`, `tags` and the like."""
    pages: tuple[int, ...] = ()
    """Where each page, slide or sheet begins in `text`, in code points, the first at 0; none: it has none."""
    notes: tuple[str, ...] = ()
    pictures: tuple[int, ...] = ()
    """Pages, from 1, that have something on them but no text; where they are all, `text` is empty."""
    unreadable: tuple[int, ...] = ()
    """Pages, from 1, with text that was left out because no program can tell its letters."""
    words: tuple[WordBox, ...] = ()
    images: tuple[FoundImage, ...] = ()
    """Pictures in reading order; each has words of its own in `text`."""
