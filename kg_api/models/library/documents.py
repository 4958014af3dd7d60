"""Ontologies, documents and sources, as they are stored and as they are told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kg_api.models.base import Answer, Body, DocumentName, OntologyName, Page, Text
from kg_api.models.identity import text_hash
from kg_api.models.images import StoredImage
from kg_api.models.library.formats import OcrMode
from kg_api.models.library.metadata import FileTime, Metadata, MetadataValue
from kg_api.models.library.parsing import Format, SourceBlock

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
    """On which it ends."""
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
        """The hash of what it says and of what is to be seen in it; of a picture alone, by any name."""
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
    """What is said about a document that comes as a file."""

    ontology: OntologyName
    document: DocumentName
    """Its name in this ontology; the same name again replaces it. Unset in an upload: the file's name."""
    format: Format | None = None
    """Unset: by the name's ending, else plain text."""
    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """What it is called; full text finds it. Unset: what the document itself says, else its name."""
    uri: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    """Where it came from."""
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
    """A file to store, next to its content."""

    ocr: OcrMode = "auto"
    """Pages of a PDF that OCR reads: `auto` those without readable text, `always` all, `never` none."""


class DocumentChange(Body):
    """What is changed of a document; its text stays, and so does what is not named here."""

    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    uri: Annotated[Text, StringConstraints(min_length=1, max_length=4000)] | None = None
    metadata: Metadata = Field(default_factory=dict)
    """Key by key; null deletes one."""


class DocumentText(DocumentRequest):
    """A document as text."""

    text: Text


class SourceChanges(Answer):
    """How many sources storing a document added, kept and removed."""

    added: int
    kept: int
    removed: int


class Ingested(Answer):
    """What became of a document. Full text finds its sources now, meaning does when the job is done."""

    document_id: str
    ontology: str
    document: str
    title: str
    change: Change
    sources: SourceChanges
    job_id: str | None = None
    """The job that embeds what is new; none when nothing is."""
    duplicate_of: str | None = None
    """Another document of the ontology that says the same; looked for when this one is new or changed."""
    notes: list[str] = Field(default_factory=list[str])
    """What a person should know, such as an encoding that was guessed."""


class DocumentSummary(Answer):
    """A document without its text."""

    document_id: str
    ontology: str
    document: str
    title: str
    uri: str | None
    format: str
    characters: int
    sources: int
    updated_at: datetime
    metadata: dict[str, MetadataValue]


class DocumentChanged(DocumentSummary):
    """A document after it was changed."""

    job_id: str | None = None
    """The job that embeds it anew, where the contexts of its chunks use what changed; else none."""
    notes: list[str] = Field(default_factory=list[str])
    """That a picture is still found by its former words."""


class DocumentPage(Page):
    """Documents, ordered by ontology and name."""

    documents: list[DocumentSummary]


class DocumentContent(DocumentSummary):
    """A document with its whole text."""

    text: str


class OntologySummary(Answer):
    """An ontology and how much of it is embedded."""

    ontology: str
    space: str
    """The embedding space it uses."""
    documents: int
    sources: int
    images: int = 0
    """Those of its sources that are pictures."""
    embedded: int
    """Sources that have the vectors they should have."""
    stale: int
    """Sources whose vectors are of an earlier configuration."""
    refused: int = 0
    """Sources that the model does not take."""
    searchable: int = 0
    """Sources that are found by meaning at this moment."""
    building: bool = False
    """Whether another space or chunking is being built, while the present one answers."""


class OntologyList(Answer):
    """All ontologies, by name."""

    ontologies: list[OntologySummary]
    waiting: dict[str, int] = Field(default_factory=dict[str, int])
    """By ontology, how many documents wait for approval, also where there is none of it yet."""


class Deleted(Answer):
    """What was deleted; zeros and a note when there was nothing, so that deleting twice is harmless."""

    documents: int
    sources: int
    notes: list[str] = Field(default_factory=list[str])
    """That there was nothing to delete, and what is nearest to what was asked for."""


class ConceptCounts(Answer):
    """How many concepts have the vector they should have."""

    total: int
    embedded: int
    missing: int
    stale: int
    """Their text, or the model, was another when they were embedded."""
    refused: int
    """Set aside, for the model does not take them."""
    deferred: int = 0
    """Carried by a single source; embedded when somebody asks for the ontology's concepts by meaning."""


class ImageCounts(Answer):
    """How many pictures have the vector they should have."""

    total: int
    embedded: int
    missing: int
    stale: int
    """Their file, or the model, was another when they were embedded."""
    refused: int
    """Set aside, for they cannot be read or the model does not take them."""


class EdgeCounts(Answer):
    """How many relationships have the vector they should have."""

    total: int
    embedded: int
    missing: int
    stale: int
    """What they say, or the model, was another when they were embedded."""
    refused: int
    """Set aside, for the model does not take them."""


class EmbeddingStatus(Answer):
    """How many sources have the vector they should have."""

    ontology: str | None
    """None: all ontologies together."""
    total: int
    embedded: int
    missing: int
    stale: int
    """Embedded, but with another model or configuration than the present one."""
    refused: int = 0
    """Set aside, for the model does not take them; `GET /ontologies/{ontology}/refused` says why."""
    searchable: int = 0
    """Found by meaning at this moment, as they shall be or as they were."""
    building: bool = False
    """Whether others answer than those that are being made: embedded counts the new, searchable the old."""
    concepts: ConceptCounts | None = None
    """Of concepts, in the same way; none where they were not counted."""
    images: ImageCounts | None = None
    """Of pictures, by what is seen on them; none where they were not counted."""
    edges: EdgeCounts | None = None
    """Of relationships, by what they say; none where they were not counted."""
