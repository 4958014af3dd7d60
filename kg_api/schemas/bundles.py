"""Lines of a bundle. A bundle can come from a stranger, so kg validates and limits its content."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, model_validator
from pydantic.json_schema import SkipJsonSchema

from kg_api.schemas.base import Answer, Body, DocumentName, Flag, OntologyName, Text
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.documents import BlockKind
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.formats import Format
from kg_api.schemas.images import ImageType
from kg_api.schemas.languages import MAX_GROUPS, Group
from kg_api.schemas.metadata import MetadataValue, check_value
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import TextLanguage

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Maximum size of a line. A line contains at most one source, and a source is at most a whole document."""
MAX_PLACE = 2**31
MAX_DIMENSIONS = 4096
MAX_PART = 2000
MAX_KEYS = 10_000


def _is_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    return text


def _require_storable(metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
    for key, value in metadata.items():
        for each in value if isinstance(value, list) else [value]:
            check_value(key, each)
    return metadata


Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
BlobKey = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 of a file. It cannot contain a path."""
BundledMark = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
ExtractorMark = Annotated[Text, StringConstraints(min_length=1, max_length=200)]
Place = Annotated[int, Field(ge=0, le=MAX_PLACE)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[Text, StringConstraints(max_length=1000)]
BundledVector = Annotated[
    str, StringConstraints(min_length=8, max_length=MAX_DIMENSIONS * 6), AfterValidator(_is_base64)
]
"""32-bit little-endian floats as base64."""
BundledMetadata = Annotated[
    dict[Annotated[Text, StringConstraints(max_length=1000)], MetadataValue],
    Field(max_length=MAX_KEYS),
    AfterValidator(_require_storable),
]

_Ignored = SkipJsonSchema[object]
"""Field in bundles from before 2026-11-29."""


class BundledChanges(Body):
    """Manual changes of a document, combined."""

    title: Name | None = None
    uri: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    metadata: BundledMetadata = Field(default_factory=dict)
    """Changes by key. Null deletes a key."""


class BundledImage(Body):
    storage_key: BlobKey
    thumbnail_key: BlobKey
    content_type: ImageType
    width: Annotated[int, Field(ge=1, le=MAX_PLACE)]
    height: Annotated[int, Field(ge=1, le=MAX_PLACE)]
    bytes: Place
    perceptual_hash: _Ignored = Field(default=None, exclude=True)


class BundledSource(Body):
    """Source of a document. It starts where the previous one ends."""

    text: Annotated[Text, StringConstraints(min_length=1)]
    heading: Annotated[list[Text], Field(max_length=100)] = Field(default_factory=list)
    blocks: list[tuple[BlockKind, Place]] = Field(default_factory=list)
    page: Place | None = None
    last_page: Place | None = None
    ocr_confidence: Share | None = None
    word_boxes: Annotated[str, AfterValidator(_is_base64)] | None = None
    image: BundledImage | None = None

    @model_validator(mode="after")
    def _has_its_blocks(self) -> Self:
        if any(start > len(self.text) for _, start in self.blocks):
            raise ValueError("a block starts after the end of its source")
        return self


class BundledDocument(Body):
    """Document with its sources in reading order."""

    kind: Literal["document"]
    document: DocumentName
    title: Name
    uri: Annotated[Text, StringConstraints(max_length=4000)] | None = None
    format: Format
    content_hash: Digest
    """Hash of all input of the document. The same hash is not stored again."""
    characters: Place
    preface: Text = ""
    metadata: BundledMetadata = Field(default_factory=dict)
    changes: BundledChanges | None = None
    original: BlobKey | None = None
    sources: Annotated[list[BundledSource], Field(min_length=1)]


class BundledChunk(Body):
    """Chunk of one or several sources. It has either a vector or child chunks."""

    chunk_id: Digest
    first: Place
    last: Place
    offset: Place
    end_offset: Place
    vector: BundledVector | None = None
    children: Annotated[list[Digest], Field(max_length=10_000)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.last < self.first or self.last - self.first >= MAX_PART:
            raise ValueError("the range does not lead from a source to a later one")
        if (self.vector is None) != bool(self.children):
            raise ValueError("the source has a vector, or chunks in its place")
        return self


class BundledQuote(Body):
    start: Place
    end: Place
    score: Share = 1.0
    said: Annotated[Text, StringConstraints(max_length=10_000)] | None = None


class BundledConcept(Body):
    label: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    description: Name = ""
    search_terms: Annotated[list[Name], Field(max_length=100)] = Field(default_factory=list)
    confidence: Share = 1.0
    quotes: Annotated[list[BundledQuote], Field(max_length=10_000)] = Field(default_factory=list)
    unverified: Annotated[list[Name], Field(max_length=100)] = Field(default_factory=list)


class BundledRelation(Body):
    subject: Name
    type: Name
    object: Name
    confidence: Share = 1.0
    quote: BundledQuote | None = None


class BundledEvidence(Body):
    """Concepts of a source."""

    extracted_with: ExtractorMark
    unverified: Place = 0
    concepts: Annotated[list[BundledConcept], Field(max_length=100_000)] = Field(default_factory=list)
    relations: Annotated[list[BundledRelation], Field(max_length=100_000)] = Field(default_factory=list)


class BundledPassage(Body):
    paragraph: Place
    embedded: Flag = False
    vector: BundledVector | None = None
    """Null for an embedded source: its chunks have vectors."""
    evidence: Annotated[list[BundledEvidence], Field(max_length=1)] = Field(default_factory=list)


class BundledPassages(Body):
    """Vectors and concepts of some sources of a document, which a previous line contains."""

    kind: Literal["passages"]
    document: DocumentName
    content_hash: Digest
    mark: BundledMark
    passages: Annotated[list[BundledPassage], Field(min_length=1, max_length=MAX_PART)]
    chunks: Annotated[list[BundledChunk], Field(max_length=100_000)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        for ids in ([each.paragraph for each in self.passages], [each.chunk_id for each in self.chunks]):
            if len(set(ids)) != len(ids):
                raise ValueError("has a duplicate paragraph or chunk")
        return self


BundledLine = BundledDocument | BundledPassages
LINE: TypeAdapter[BundledLine] = TypeAdapter(Annotated[BundledLine, Field(discriminator="kind")])


# Manifest of a bundle, and export offer of a service

FORMAT: Final = 2
MAX_ONTOLOGIES = 10_000
LEFT_OUT: Final = (
    "documents that wait for approval",
    "vectors of concepts, relationships, and images: kg computes them again",
    "stale vectors, and vectors of a space or chunking that is being built",
    "which concepts and types of relationships were merged, and the stances of types",
    "proposals of links with their decisions, and communities: kg searches for them again",
    "judgements of passages. `kg eval make --kind judgements` writes them to files",
    "synced folders, jobs, API keys and caches",
    "the times at which documents were stored: kg stores the time of the import",
)

ShortText = Annotated[Text, StringConstraints(max_length=1000)]


class BundledOntology(Body):
    ontology: OntologyName
    embedding: EmbeddingConfig
    space_fingerprint: ShortText
    model: ShortText = ""
    space: NewSpace | None = None
    mark: BundledMark
    language: TextLanguage = "auto"
    synonyms: Annotated[list[Group], Field(max_length=MAX_GROUPS)] = Field(default_factory=list)
    extraction: ExtractionConfig = ExtractionConfig()
    proposals: _Ignored = Field(default=None, exclude=True)


class OntologyToImport(Body):
    format: int
    schema_version: int
    configuration: BundledOntology
    replace: Flag = False
    """Import into an existing ontology, and replace documents with the same names."""


class BundleOffer(Answer):
    format: int
    kg_version: str
    schema_version: int
    ontologies: list[BundledOntology]
    documents: dict[str, int]
    waiting: dict[str, int]
    left_out: list[str]


class ImportOpened(Answer):
    ontology: str
    created: bool
    """Whether the import created the ontology. An existing ontology keeps its configuration."""
    takes_vectors: bool
    """Whether the bundle's vectors fit the configuration. If not, kg re-embeds the sources."""
    notes: list[str]


class ImportedLines(Answer):
    stored: int = 0
    replaced: int = 0
    unchanged: int = 0
    vectors: int = 0
    anew: int = 0
    """Sources whose vectors do not fit. kg re-embeds them."""
    concepts: int = 0
    problems: list[str] = Field(default_factory=list)

    def add(self, more: ImportedLines) -> None:
        for name in type(self).model_fields:
            setattr(self, name, getattr(self, name) + getattr(more, name))


class KeptBlob(Answer):
    """Stored file. kg deletes it after an hour if no document uses it."""

    key: str


FileOfLines = Annotated[str, StringConstraints(pattern=r"^ontology-[0-9]{4,6}\.jsonl$")]


class BundledFile(Body):
    path: FileOfLines
    bytes: Annotated[int, Field(ge=0)]
    sha256: BlobKey
    documents: Place
    sources: Place
    configuration: BundledOntology


class BundledBlobs(Body):
    files: Place = 0
    bytes: Annotated[int, Field(ge=0)] = 0
    lost: Annotated[list[BlobKey], Field(max_length=10_000)] = Field(default_factory=list)
    """Files that the service no longer has. Documents that need them cannot be imported."""


class Manifest(Body):
    """Description of a bundle. kg writes it last, so an incomplete bundle has none."""

    format: int
    kg_version: ShortText
    schema_version: Place
    created_at: ShortText
    files: Annotated[list[BundledFile], Field(max_length=MAX_ONTOLOGIES)]
    blobs: BundledBlobs = BundledBlobs()
    left_out: Annotated[list[ShortText], Field(max_length=1000)]
