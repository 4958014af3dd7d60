"""What a bundle says of itself, and what a service says of what it can give."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from kg_api.models.base import Answer, Body, OntologyName, Text
from kg_api.models.bundle.lines import BlobKey, BundledMark, Place
from kg_api.models.concepts.extraction_config import ExtractionConfig
from kg_api.models.embedding.configuration import EmbeddingConfig
from kg_api.models.embedding.spaces import NewSpace
from kg_api.models.proposals.configuration import ProposalConfig
from kg_api.models.vocabulary import TextLanguage
from kg_api.models.words.synonyms import MAX_GROUPS, Group

FORMAT: Final = 1
"""Of bundles; another one is of another kg."""
MAX_ONTOLOGIES = 10_000
LEFT_OUT: Final = (
    "documents that wait for approval",
    "vectors of concepts, relationships and pictures: they are made anew from what is there",
    "vectors that are stale, and those of a space or chunking that is being built",
    "which concepts and types of relationships were merged, and the stances of types",
    "proposals of links and what was decided of them, and communities: they are looked for anew",
    "judgements of passages; `kg eval make --kind judgements` writes them to files",
    "followed folders, jobs, API keys and caches",
    "when documents were stored: that is when they are imported",
)
"""What no bundle of this format holds."""

ShortText = Annotated[Text, StringConstraints(max_length=1000)]


class BundledOntology(Body):
    """An ontology's configuration, with what its vectors depend on."""

    ontology: OntologyName
    embedding: EmbeddingConfig
    space_fingerprint: ShortText
    """Of the model and all that is known of it."""
    model: ShortText = ""
    """As a person reads it."""
    space: NewSpace | None = None
    """How to create its space in another kg."""
    mark: BundledMark
    """The embedding fingerprint of its sources."""
    language: TextLanguage = "auto"
    synonyms: Annotated[list[Group], Field(max_length=MAX_GROUPS)] = Field(default_factory=list)
    extraction: ExtractionConfig = ExtractionConfig()
    proposals: ProposalConfig = ProposalConfig()


class OntologyToImport(Body):
    """An ontology of a bundle that is about to be imported."""

    format: int
    schema_version: int
    """Of the database that it is from."""
    configuration: BundledOntology


class BundleOffer(Answer):
    """What a service can export, and what it is."""

    format: int
    kg_version: str
    schema_version: int
    """The number of the last change of its database's schema."""
    ontologies: list[BundledOntology]
    documents: dict[str, int]
    """By ontology."""
    waiting: dict[str, int]
    """By ontology, documents that wait for approval: they are not exported."""
    left_out: list[str]
    """What no bundle holds."""


class ImportOpened(Answer):
    """What an ontology is in the kg that it is imported into."""

    ontology: str
    created: bool
    """Whether it was made, as the bundle has it configured; else it stays as it is configured here."""
    takes_vectors: bool
    """Whether the bundle's vectors are what would be made here; else sources are embedded anew."""
    notes: list[str]


class ImportedLines(Answer):
    """What became of some lines."""

    stored: int
    """Documents that are new."""
    replaced: int
    unchanged: int
    kept: list[str]
    """Documents of which another text is stored here: those stay."""
    vectors: int
    """Sources whose vectors were taken."""
    anew: int
    """Sources whose vectors are not what would be made here: they are embedded anew."""
    concepts: int
    """Sources of which it was taken what was found in them."""
    problems: list[str]
    """Documents that could not be stored, and why."""


class KeptBlob(Answer):
    """A file that is kept, for an hour or as long as a document uses it."""

    key: str


class LineCounts(Body):
    """How many lines of each kind a file has."""

    document: Place = 0
    source: Place = 0
    vectors: Place = 0
    concepts: Place = 0


FileOfLines = Annotated[str, StringConstraints(pattern=r"^ontology-[0-9]{4,6}\.jsonl$")]


class BundledFile(Body):
    """A file of lines: all of one ontology."""

    path: FileOfLines
    bytes: Annotated[int, Field(ge=0)]
    sha256: BlobKey
    lines: LineCounts
    configuration: BundledOntology


class BundledBlobs(Body):
    """The files of pictures and documents; each is named by its SHA-256."""

    files: Place = 0
    bytes: Annotated[int, Field(ge=0)] = 0
    lost: Annotated[list[BlobKey], Field(max_length=10_000)] = Field(default_factory=list)
    """Those that the service named and had no more: documents that need one cannot be imported."""


class Manifest(Body):
    """What a bundle is; written last, so that one that was not finished has none."""

    format: int
    kg_version: ShortText
    schema_version: Place
    created_at: ShortText
    files: Annotated[list[BundledFile], Field(max_length=MAX_ONTOLOGIES)]
    blobs: BundledBlobs = BundledBlobs()
    left_out: Annotated[list[ShortText], Field(max_length=1000)]
