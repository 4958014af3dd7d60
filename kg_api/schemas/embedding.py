"""Embedding configurations, chunk contexts, costs and regeneration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Body, Flag, OntologyName, Text
from kg_api.schemas.documents import Change, SourceChanges, VectorCounts
from kg_api.schemas.filters import Where
from kg_api.schemas.metadata import MODIFIED, MetadataValue
from kg_api.schemas.problems import valid
from kg_api.schemas.spaces import FIRST_SLUG, Slug
from kg_api.schemas.vocabulary import MAX_NAMES, ContextMode, EmbeddedKind, Selection, Strategy

_DATES = ("date", "published", "updated", "created")
_PEOPLE = ("author", "authors", "by")


CONTEXT_FIELDS = ("title", "heading", "date", "author")
_FIELD = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")
_SEPARATORS = " ,;:.|/>-–—·•"
_PART = re.compile(rf"\[[^\[\]]*\]|[{re.escape(_SEPARATORS)}]*\{{[^{{}}]*\}}")
_BRACKET_SIGNS = re.compile(rf"\([{re.escape(_SEPARATORS)}]+")


def checked_template(template: str) -> str:
    """Return a template of a context; raise ValueError if its fields or brackets are wrong."""
    fields = _FIELD.findall(template)
    if wrong := [each for each in fields if each not in CONTEXT_FIELDS]:
        raise ValueError(f"{{{wrong[0]}}} is no field; those known are {_known()}")
    if not fields:
        raise ValueError(f"names no field; those known are {_known()}")
    rest = _OPTIONAL.sub("", _FIELD.sub("", template))
    if any(mark in rest for mark in "{}[]"):
        raise ValueError("has a bracket without its other half, or brackets in brackets")
    return template


def _known() -> str:
    return ", ".join(f"{{{each}}}" for each in CONTEXT_FIELDS)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return a line by a template, or nothing if none of its fields has a value.

    A part in square brackets needs all its fields. Signs before an empty field, such as ` > `, go with it.
    """
    if not any(values[field] for field in _FIELD.findall(template)):
        return ""

    def keep(part: re.Match[str]) -> str:
        has_values = all(values[field] for field in _FIELD.findall(part[0]))
        return part[0].removeprefix("[").removesuffix("]") if has_values else ""

    left = _BRACKET_SIGNS.sub("(", _PART.sub(keep, template)).replace("()", "").lstrip(_SEPARATORS)
    return " ".join(_FIELD.sub(lambda found: values[found[1]], left).split())


def used_in_context(
    context: str, template: str | None, title: str, metadata: Mapping[str, MetadataValue]
) -> tuple[object, ...]:
    """What a context says of a document, beside its headings: when this changes, its chunks are stale."""
    if context == "llm":
        return title, {key: value for key, value in metadata.items() if key != MODIFIED}
    if context not in {"template", "late_template"}:
        return ()
    date, people = date_and_people(metadata)
    fields = set(CONTEXT_FIELDS) if template is None else set(_FIELD.findall(template))
    values = {"title": title, "date": date, "author": people}
    return tuple(value for name, value in values.items() if name in fields)


def date_and_people(metadata: Mapping[str, MetadataValue]) -> tuple[str, str]:
    """When a document was written and by whom, each empty where it is not known."""
    folded = {key.casefold(): value for key, value in metadata.items()}
    return _first(folded, _DATES), _first(folded, _PEOPLE)


def _first(folded: Mapping[str, MetadataValue], names: Iterable[str]) -> str:
    texts = (_text(folded.get(name)) for name in names)
    return next(filter(None, texts), "")


def _text(value: MetadataValue) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "" if value is None else " ".join(str(value).split())


# How an ontology's text is cut into chunks.


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a strategy's sizes mean, their defaults and their limits. None: the strategy has no such size."""

    unit: Literal["words", "characters"]
    chunk_size: int
    smallest: int
    largest: int
    overlap: int | None = None
    """In the unit of chunk_size; for paragraph_group in paragraphs."""
    parent_size: int | None = None


SIZES: dict[Strategy, Sizes] = {  # no source is larger than 400 words, so a paragraph is a source by default
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
    Text, StringConstraints(min_length=1, max_length=300), AfterValidator(checked_template)
]


class Chunking(Body):
    """One way to cut text into chunks. Unset sizes are the strategy's own; a model's limit holds besides."""

    model_config = ConfigDict(frozen=True)

    strategy: Strategy = "paragraph"
    """`sentence`: whole sentences, about 20 to 40 words; `paragraph`: the sources themselves; `count`: a
    fixed number of words; `semantic`: breaks where the meaning moves; `paragraph_group`: paragraphs of one
    section, together; `hierarchical`: small children found, large parents given."""
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    """At most this many words a chunk; characters of a child for `hierarchical`."""
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    """How much of a chunk is repeated in the next: words for `count`, characters for `hierarchical`,
    paragraphs (0 or 1) for `paragraph_group`."""
    parent_size: Annotated[int, Field(strict=True)] | None = None
    """Characters of a parent; `hierarchical` only."""
    context: ContextMode = "none"
    """What stands before a chunk when it is embedded: nothing, a line of title, headings and metadata, or a
    sentence or two by a language model. `late`: nothing, but the model reads it among its neighbours too;
    `late_template`: both. The stored text stays as it was."""
    context_template: ContextTemplate | None = None
    """The line of `template` and `late_template`, of {title}, {heading}, {date} and {author}; a part in [ ]
    is left out where one of its fields is not known. Unset: title, headings, date and author."""

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
            raise ValueError(f"{self.strategy} has no overlap; leave it out")
        most = 1 if self.strategy == "paragraph_group" else size // 2
        if (self.overlap or 0) > most:
            raise ValueError(f"overlap of {self.strategy} with chunk_size {size} is at most {most}")
        if sizes.parent_size is None and self.parent_size is not None:
            raise ValueError(f"{self.strategy} has no parents; leave parent_size out")
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
        """Whether a chunk, or what its vector is made from, may cover several sources."""
        return self.is_late or self.strategy not in {"sentence", "paragraph"}

    @property
    def has_template(self) -> bool:
        """Whether a line made by a template stands before a chunk."""
        return self.context in {"template", "late_template"}

    @property
    def is_late(self) -> bool:
        """Whether a chunk is read among its neighbours too when it is embedded."""
        return self.context in {"late", "late_template"}


# How an ontology is embedded: its configuration, what that makes stale, and what it will cost.


class EmbeddingConfig(Chunking):
    """How one ontology is embedded. Every ontology has exactly one; what is unset is the default."""

    space: Slug = FIRST_SLUG
    embed_on_ingest: Flag = True
    """Whether new text is embedded by itself; else when it is asked for."""

    @property
    def chunking(self) -> Chunking:
        return Chunking.model_validate(self.model_dump(include=set(Chunking.model_fields)))


class EmbeddingConfigChange(Body):
    """What to change; what is left out stays, null is the default, a strategy has its own sizes."""

    strategy: Strategy | None = None
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    parent_size: Annotated[int, Field(strict=True)] | None = None
    context: ContextMode | None = None
    context_template: ContextTemplate | None = None
    space: Slug | None = None
    embed_on_ingest: Flag | None = None

    def applied(self, present: EmbeddingConfig) -> EmbeddingConfig:
        """Return the configuration with the change; raise InvalidInput if the two do not fit together."""
        kept = present.model_dump()
        if self.strategy != present.strategy and "strategy" in self.model_fields_set:
            kept = {name: value for name, value in kept.items() if name not in SIZE_FIELDS}
        if self.context not in {None, "template", "late_template"}:
            kept.pop("context_template", None)
        asked = {**kept, **self.model_dump(exclude_unset=True)}
        return valid(EmbeddingConfig, {name: value for name, value in asked.items() if value is not None})


class Cost(Answer):
    """What embedding will take. Estimated where `sampled_documents` is less than `documents`."""

    documents: int
    sampled_documents: int
    sources: int
    chunks: int
    tokens: int
    seconds: float | None
    """With one worker here; none when its speed is not known."""
    price: float | None
    """US dollars; 0 for a model that runs here, none when the price is not known."""
    context_price: float | None = None
    """US dollars for the language model that writes contexts; none without one or without a known price."""
    notes: list[str] = Field(default_factory=list[str])


class EmbeddingConfiguration(VectorCounts):
    ontology: str
    config: EmbeddingConfig
    dimensions: int
    answering: EmbeddingConfig | None = None
    """What answers searches while `config` is being built; none: `config` itself."""
    previous: EmbeddingConfig | None = None
    activates: bool = True
    paused: bool = False
    regeneration: Cost
    applied: bool = True
    notes: list[str] = Field(default_factory=list[str])


class RefusedSource(Answer):
    """A source that the model does not take; it is found by full text only."""

    source_id: str
    document: str
    paragraph: int
    reason: str
    at: datetime


class RefusedSources(Answer):
    """What was set aside of an ontology; `kg jobs retry` and `source-embeddings generate` try it again."""

    ontology: str
    total: int
    sources: list[RefusedSource]


class EmbeddingStarted(Answer):
    ontology: str
    due: int
    job_id: str | None


class DocumentPreview(Answer):
    """What taking in a document will make and take; nothing was stored or embedded."""

    document: str
    ontology: str
    change: Change
    sources: SourceChanges
    config: EmbeddingConfig
    cost: Cost
    duplicate_of: str | None = None
    notes: list[str] = Field(default_factory=list[str])


# Making embeddings anew: what is asked for, and what came of it.


class Regeneration(Body):
    ontology: OntologyName | None = None
    type: EmbeddedKind | Literal["all"] = "source"
    selection: Selection = "due"
    """`missing`: what was never embedded; `stale`: what was embedded another way; `due`: both."""
    force: Flag = False
    """Make anew what is right as well, without the cache."""
    where: Annotated[Where, Field(min_length=1)] | None = None
    """Only sources of documents for which all of these hold; with `force`: what is due is embedded anyhow."""
    dry_run: Flag = False

    @model_validator(mode="after")
    def _allow_filter(self) -> Self:
        if self.where and not (self.force and self.type == "source"):
            raise ValueError(
                "a filter says which sources are embedded anew: ask for it with force, and with type source; "
                "what is missing or stale is embedded without being chosen"
            )
        return self


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


# Changing the embedding space of ontologies while people search.

Names = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_NAMES)]


class ChosenOntologies(Body):
    ontologies: Names | None = None
    """Unset: all that it can be done to."""


class SpaceActivation(ChosenOntologies):
    """Let what was built answer."""

    accept_refused: Flag = False
    """Though the model does not take some texts that answer now; they are found by full text only then."""


class SpaceBuild(ChosenOntologies):
    """Build the vectors of a space beside those that answer."""

    activate: Flag = False
    """Let each ontology's new vectors answer by themselves as soon as they are complete."""
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
    """The space of ontologies that nobody has configured."""
    seconds: float
    notes: list[str] = Field(default_factory=list[str])


class SpaceDropped(Answer):
    slug: str
    ontologies: list[str]
    job_id: str
    notes: list[str] = Field(default_factory=list[str])
