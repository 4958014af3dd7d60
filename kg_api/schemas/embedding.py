"""Embedding configurations, chunk contexts, cost, and regeneration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Body, Flag, OntologyName, Text
from kg_api.schemas.documents import Change, SourceChanges, VectorCounts
from kg_api.schemas.metadata import DATES, MODIFIED, MetadataValue
from kg_api.schemas.problems import validate
from kg_api.schemas.spaces import FIRST_SLUG, Slug
from kg_api.schemas.vocabulary import MAX_NAMES, ContextMode, EmbeddedKind, Selection, Strategy

_PEOPLE = ("author", "authors", "by")


CONTEXT_FIELDS = ("title", "heading", "date", "author")
_FIELD = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")
_SEPARATORS = " ,;:.|/>-–—·•"
_PART = re.compile(rf"\[[^\[\]]*\]|[{re.escape(_SEPARATORS)}]*\{{[^{{}}]*\}}")
_BRACKET_SIGNS = re.compile(rf"\([{re.escape(_SEPARATORS)}]+")


def validate_template(template: str) -> str:
    """Return the template of a context. Raise ValueError for a wrong field or bracket."""
    fields = _FIELD.findall(template)
    if wrong := [each for each in fields if each not in CONTEXT_FIELDS]:
        raise ValueError(f"unknown field {{{wrong[0]}}}. Known fields are {_known()}")
    if not fields:
        raise ValueError(f"names no field. Known fields are {_known()}")
    rest = _OPTIONAL.sub("", _FIELD.sub("", template))
    if any(mark in rest for mark in "{}[]"):
        raise ValueError("has an unmatched bracket, or nested brackets")
    return template


def _known() -> str:
    return ", ".join(f"{{{each}}}" for each in CONTEXT_FIELDS)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the filled template, or an empty text if no field has a value.

    A part in square brackets needs all its fields. Separators before an empty field, such as ` > `,
    disappear.
    """
    if not any(values[field] for field in _FIELD.findall(template)):
        return ""

    def keep(part: re.Match[str]) -> str:
        has_values = all(values[field] for field in _FIELD.findall(part[0]))
        return part[0].removeprefix("[").removesuffix("]") if has_values else ""

    left = _BRACKET_SIGNS.sub("(", _PART.sub(keep, template)).replace("()", "").lstrip(_SEPARATORS)
    return " ".join(_FIELD.sub(lambda found: values[found[1]], left).split())


def select_context_fields(
    context: str, template: str | None, title: str, metadata: Mapping[str, MetadataValue]
) -> tuple[object, ...]:
    """Select the document properties in a context, without headings. If they change, the chunks are stale."""
    if context == "llm":
        return title, {key: value for key, value in metadata.items() if key != MODIFIED}
    if context not in {"template", "late_template"}:
        return ()
    date, people = find_date_and_people(metadata)
    fields = set(CONTEXT_FIELDS) if template is None else set(_FIELD.findall(template))
    values = {"title": title, "date": date, "author": people}
    return tuple(value for name, value in values.items() if name in fields)


def find_date_and_people(metadata: Mapping[str, MetadataValue]) -> tuple[str, str]:
    """Find the date of writing and the authors of a document. Unknown values are empty."""
    folded = {key.casefold(): value for key, value in metadata.items()}
    return _find_first(folded, DATES), _find_first(folded, _PEOPLE)


def find_document_date(metadata: Mapping[str, MetadataValue]) -> str | None:
    return find_date_and_people(metadata)[0] or None


def _find_first(folded: Mapping[str, MetadataValue], names: Iterable[str]) -> str:
    texts = (_read_text(folded.get(name)) for name in names)
    return next(filter(None, texts), "")


def _read_text(value: MetadataValue) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "" if value is None else " ".join(str(value).split())


# Chunking


@dataclass(frozen=True, slots=True)
class Sizes:
    """Unit, default, and limits of a strategy's sizes. None: the strategy has no such size."""

    unit: Literal["words", "characters"]
    chunk_size: int
    smallest: int
    largest: int
    overlap: int | None = None  # Overlap in `unit`. For paragraph_group: in paragraphs.
    parent_size: int | None = None


SIZES: dict[Strategy, Sizes] = {  # a source has at most 400 words, so by default a paragraph is a source
    "sentence": Sizes("words", 40, 5, 200),
    "paragraph": Sizes("words", 400, 20, 2000),
    "count": Sizes("words", 250, 10, 5000, overlap=0),
    "semantic": Sizes("words", 200, 20, 2000),
    "paragraph_group": Sizes("words", 500, 50, 5000, overlap=1),
    "hierarchical": Sizes("characters", 512, 100, 10_000, overlap=50, parent_size=4000),
}
SIZE_FIELDS = frozenset({"chunk_size", "overlap", "parent_size"})
MAX_PARENT = 20_000


ContextTemplate = Annotated[
    Text, StringConstraints(min_length=1, max_length=300), AfterValidator(validate_template)
]


class Chunking(Body):
    """Method to split text into chunks. Sizes default to the strategy's. The model's limit also applies."""

    model_config = ConfigDict(frozen=True)

    strategy: Strategy = "paragraph"
    """`sentence`: whole sentences, about 20 to 40 words. `paragraph`: sources. `count`: a fixed number of
    words. `semantic`: breaks at changes of topic. `paragraph_group`: paragraphs of one section together.
    `hierarchical`: search in small chunks, return large parents."""
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    """Maximum number of words of a chunk. For `hierarchical`: characters."""
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Overlap of consecutive chunks: words for `count`, characters for `hierarchical`, paragraphs (0 or 1)
    for `paragraph_group`."""
    parent_size: Annotated[int, Field(strict=True)] | None = None
    """Characters of a parent chunk, for `hierarchical` only."""
    context: ContextMode = "none"
    """Text that kg adds before a chunk to embed it. `none`: nothing. `template`: a line of title, headings,
    and metadata. `llm`: one or two sentences of a language model. `late`: nothing, but the model also reads
    the neighbours. `late_template`: both. The stored text stays unchanged."""
    context_template: ContextTemplate | None = None
    """Line for `template` and `late_template` with {title}, {heading}, {date}, and {author}. A part in [ ]
    appears only if its fields have values. Default: title, headings, date, and author."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        strategy = fields.get("strategy", "paragraph")
        sizes = SIZES.get(cast("Strategy", strategy)) if isinstance(strategy, str) else None
        if sizes is None:
            return fields
        usual = {"chunk_size": sizes.chunk_size, "overlap": sizes.overlap, "parent_size": sizes.parent_size}
        return {**fields, **{name: value for name, value in usual.items() if fields.get(name) is None}}

    @model_validator(mode="after")
    def _sensible(self) -> Chunking:
        if self.context_template is not None and not self.has_template:
            raise ValueError(f"context_template is for context template or late_template, not {self.context}")
        sizes, size = SIZES[self.strategy], self.size
        if not sizes.smallest <= size <= sizes.largest:
            raise ValueError(
                f"chunk_size of {self.strategy} is from {sizes.smallest} to {sizes.largest} {sizes.unit}, "
                f"not {size}"
            )
        if sizes.overlap is None and self.overlap:
            raise ValueError(f"{self.strategy} has no overlap. Omit overlap")
        most = 1 if self.strategy == "paragraph_group" else size // 2
        if (self.overlap or 0) > most:
            raise ValueError(f"overlap of {self.strategy} with chunk_size {size} is at most {most}")
        if sizes.parent_size is None and self.parent_size is not None:
            raise ValueError(f"{self.strategy} has no parents. Omit parent_size")
        if self.parent_size is not None and not 2 * size <= self.parent_size <= MAX_PARENT:
            raise ValueError(
                f"parent_size is from {2 * size}, twice the chunk_size, to {MAX_PARENT} characters"
            )
        return self

    @property
    def size(self) -> int:
        return SIZES[self.strategy].chunk_size if self.chunk_size is None else self.chunk_size

    @property
    def unit(self) -> str:
        return SIZES[self.strategy].unit

    @property
    def crosses_sources(self) -> bool:
        """Whether a chunk or the input of its vector can span several sources."""
        return self.is_late or self.strategy not in {"sentence", "paragraph"}

    @property
    def has_template(self) -> bool:
        return self.context in {"template", "late_template"}

    @property
    def is_late(self) -> bool:
        """Whether the model reads neighbours when it embeds a chunk."""
        return self.context in {"late", "late_template"}


# Embedding configuration of an ontology


class EmbeddingConfig(Chunking):
    """Embedding configuration of one ontology. Unset fields have their defaults."""

    space: Slug = FIRST_SLUG
    embed_on_ingest: Flag = True
    """Whether kg embeds new text automatically. Otherwise on request."""

    @property
    def chunking(self) -> Chunking:
        return Chunking.model_validate(self.model_dump(include=set(Chunking.model_fields)))


class EmbeddingConfigChange(Body):
    """Changed fields. Others stay. Null restores the default. A new strategy resets the sizes."""

    strategy: Strategy | None = None
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    parent_size: Annotated[int, Field(strict=True)] | None = None
    context: ContextMode | None = None
    context_template: ContextTemplate | None = None
    space: Slug | None = None
    embed_on_ingest: Flag | None = None

    def apply(self, present: EmbeddingConfig) -> EmbeddingConfig:
        """Return the changed configuration. Raise InvalidInput if its fields do not fit together."""
        kept = present.model_dump()
        if self.strategy != present.strategy and "strategy" in self.model_fields_set:
            kept = {name: value for name, value in kept.items() if name not in SIZE_FIELDS}
        if self.context not in {None, "template", "late_template"}:
            kept.pop("context_template", None)
        fields = {**kept, **self.model_dump(exclude_unset=True)}
        return validate(EmbeddingConfig, {name: value for name, value in fields.items() if value is not None})


class Cost(Answer):
    """Cost of embedding. It is an estimate if `sampled_documents` is less than `documents`."""

    documents: int
    sampled_documents: int
    sources: int
    chunks: int
    tokens: int
    seconds: float | None
    """Duration with one worker on this machine. Null if the speed of the model is unknown."""
    price: float | None
    """US dollars. 0 for a local model, null if the price is unknown."""
    context_price: float | None = None
    """US dollars for the language model that writes contexts. Null without one or if its price is unknown."""
    notes: list[str] = Field(default_factory=list[str])


class EmbeddingConfiguration(VectorCounts):
    ontology: str
    config: EmbeddingConfig
    dimensions: int
    answering: EmbeddingConfig | None = None
    """Configuration that answers searches while kg builds `config`. Null: `config`."""
    previous: EmbeddingConfig | None = None
    activates: bool = True
    paused: bool = False
    regeneration: Cost
    applied: bool = True
    notes: list[str] = Field(default_factory=list[str])


class RefusedSource(Answer):
    """Source that the model rejects. Only full-text search finds it, or it has no extracted concepts."""

    source_id: str
    document: str
    paragraph: int
    reason: str
    at: datetime


class RefusedSources(Answer):
    """Rejected sources of an ontology. `kg jobs retry` retries them."""

    ontology: str
    total: int
    sources: list[RefusedSource]


class DocumentPreview(Answer):
    """Effects and cost of an ingestion that was not run."""

    document: str
    ontology: str
    change: Change
    sources: SourceChanges
    config: EmbeddingConfig
    cost: Cost
    duplicate_of: str | None = None
    notes: list[str] = Field(default_factory=list[str])


# Regeneration of embeddings


class Regeneration(Body):
    ontology: OntologyName | None = None
    type: EmbeddedKind | Literal["all"] = "source"
    selection: Selection = "due"
    """`missing`: never embedded. `stale`: embedded with another configuration or text. `due`: both."""
    force: Flag = False
    """Also re-embed current vectors, without the cache."""
    dry_run: Flag = False


class Regenerated(Answer):
    ontology: str
    type: EmbeddedKind
    due: int
    job_id: str | None
    cost: Cost | None


class RegenerationStarted(Answer):
    due: int
    ontologies: list[Regenerated]
    notes: list[str] = Field(default_factory=list[str])


# Change of the embedding space during searches

Names = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_NAMES)]


class ChosenOntologies(Body):
    ontologies: Names | None = None
    """Ontologies to change. Default: all possible."""


class SpaceActivation(ChosenOntologies):
    """Request to let a completed build answer searches."""

    accept_rejected: Annotated[
        Flag, Field(validation_alias=AliasChoices("accept_rejected", "accept_refused"))
    ] = False
    """Activate the space even if the model rejects some texts. You can then find them by keyword only."""


class SpaceBuild(ChosenOntologies):
    """Request to build the vectors of a space while the current vectors answer."""

    activate: Flag = False
    """Activate the new vectors of each ontology automatically when they are complete."""
    dry_run: Flag = False


class Build(Answer):
    ontology: str
    answering: str
    due: int
    job_id: str | None
    cost: Cost | None


class SpaceBuilding(Answer):
    slug: str
    builds: list[Build]
    notes: list[str] = Field(default_factory=list[str])


class Finding(Answer):
    name: str
    ok: bool
    detail: str


class SpaceCheck(Answer):
    slug: str
    ok: bool
    findings: list[Finding]


class SwitchedOntology(Answer):
    ontology: str
    before: str
    now: str


class SpaceSwitched(Answer):
    slug: str
    ontologies: list[SwitchedOntology]
    space_of_new: str
    """Space of ontologies without a configuration."""
    seconds: float
    notes: list[str] = Field(default_factory=list[str])


class SpaceDropped(Answer):
    slug: str
    ontologies: list[str]
    job_id: str
    notes: list[str] = Field(default_factory=list[str])
