"""How an ontology is embedded: its configuration, what that makes stale, and what it will cost."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from kg_api.models.base import Answer, Body, Flag
from kg_api.models.embedding.chunking import SIZE_FIELDS, Chunking, ContextTemplate
from kg_api.models.embedding.spaces import FIRST_SLUG, Slug
from kg_api.models.library.documents import Change, SourceChanges
from kg_api.models.problems import valid
from kg_api.models.vocabulary import ContextMode, Strategy


class EmbeddingConfig(Chunking):
    """How one ontology is embedded. Every ontology has exactly one; what is unset is the default."""

    space: Slug = FIRST_SLUG
    """The embedding space; its model decides over provider and dimensions."""
    embed_on_ingest: Flag = True
    """Whether new text is embedded by itself; else when it is asked for."""

    @property
    def chunking(self) -> Chunking:
        """The part that decides over chunks."""
        return Chunking.model_validate(self.model_dump(include=set(Chunking.model_fields)))


class EmbeddingConfigChange(Body):
    """What to change of how an ontology is embedded. What is left out stays as it is; null is the default.

    Another strategy starts with its own default sizes. A new ontology begins with the defaults.
    """

    strategy: Strategy | None = None
    """`sentence`: whole sentences; `paragraph`: the sources themselves; `count`: a fixed number of words;
    `semantic`: breaks where the meaning moves; `paragraph_group`: paragraphs of one section, together;
    `hierarchical`: small children found, large parents given."""
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    """At most this many words a chunk; characters of a child for `hierarchical`."""
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    """What is repeated in the next chunk: words, characters (`hierarchical`) or paragraphs."""
    parent_size: Annotated[int, Field(strict=True)] | None = None
    """Characters of a parent; `hierarchical` only."""
    context: ContextMode | None = None
    """What stands before a chunk when it is embedded, or whether it is read among its neighbours."""
    context_template: ContextTemplate | None = None
    """The line of `template` and `late_template`, of {title}, {heading}, {date} and {author}, such as
    `{title} > {heading}[ ({date})]`; what is in square brackets is left out where its field is not known."""
    space: Slug | None = None
    """The embedding space; its model decides over provider and dimensions."""
    embed_on_ingest: Flag | None = None
    """Whether new text is embedded by itself; else when it is asked for."""

    def applied(self, present: EmbeddingConfig) -> EmbeddingConfig:
        """The configuration with the change.

        Raises:
            InvalidInput: the two do not fit together.
        """
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
    """Sources to embed."""
    chunks: int
    tokens: int
    """As the space's model counts them."""
    seconds: float | None
    """With one worker here; none when its speed is not known."""
    price: float | None
    """US dollars; 0 for a model that runs here, none when the price is not known."""
    context_price: float | None = None
    """US dollars for the language model that writes contexts; none without one or without a known price."""
    notes: list[str] = Field(default_factory=list[str])


class EmbeddingConfiguration(Answer):
    """An ontology's configuration and where its vectors stand."""

    ontology: str
    config: EmbeddingConfig
    dimensions: int
    """Of the space's vectors."""
    total: int
    embedded: int
    missing: int
    stale: int
    """Embedded, but with another configuration: they are found as they are until they are made anew."""
    refused: int = 0
    """Set aside, for the model does not take them."""
    answering: EmbeddingConfig | None = None
    """What answers searches while `config` is being built; none: `config` itself."""
    previous: EmbeddingConfig | None = None
    """What answered before; `kg admin spaces rollback` goes back to it."""
    activates: bool = True
    """Whether what is being built answers by itself when it is complete."""
    paused: bool = False
    """Its job was cancelled: nothing is embedded until somebody asks for it."""
    regeneration: Cost
    """What making the missing and stale ones takes."""
    applied: bool = True
    """False for a dry run."""
    notes: list[str] = Field(default_factory=list[str])
    """What follows from it."""


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
    """At most 1,000, in reading order."""


class EmbeddingStarted(Answer):
    """The job that embeds what is missing or stale."""

    ontology: str
    due: int
    """Sources that are missing or stale."""
    job_id: str | None
    """None when nothing is due."""


class DocumentPreview(Answer):
    """What taking in a document will make and take; nothing was stored or embedded."""

    document: str
    ontology: str
    change: Change
    sources: SourceChanges
    config: EmbeddingConfig
    cost: Cost
    """Of what is new; what stays keeps its vectors."""
    duplicate_of: str | None = None
    """Another document of the ontology that says the same."""
    notes: list[str] = Field(default_factory=list[str])
