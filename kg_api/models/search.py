"""Search: what is asked and what comes back."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kg_api.models.base import Answer, Body, DocumentName, NodeId, OntologyName, Text

Mode = Literal["hybrid", "vector", "text"]
MAX_LIMIT = 100
MAX_WINDOW = 20
MAX_QUERY_CHARACTERS = 20_000
MAX_DIMENSIONS = 4096

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Limit = Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)]
Window = Annotated[int, Field(strict=True, ge=0, le=MAX_WINDOW)]


class SourceSearch(Body):
    """A search for sources."""

    query_text: Annotated[Text, StringConstraints(max_length=MAX_QUERY_CHARACTERS)] | None = None
    """What to look for, in plain words; no query language."""
    query_vector: Annotated[list[Number], Field(min_length=1, max_length=MAX_DIMENSIONS)] | None = None
    """A vector made by the client, instead of embedding `query_text`; needs `space`."""
    space: NodeId | None = None
    """The space that `query_vector` belongs to."""
    ontology: OntologyName | Annotated[list[OntologyName], Field(min_length=1, max_length=1000)] | None = None
    """Search only these; unset or null: all."""
    documents: Annotated[list[DocumentName], Field(min_length=1, max_length=1000)] | None = None
    """Search only documents of these names; unset or null: all."""
    mode: Mode = "hybrid"
    """`vector`: by meaning; `text`: by words; `hybrid`: both, fused."""
    limit: Limit = 10
    min_similarity: Annotated[Number, Field(ge=-1, le=1)] | None = None
    """Leave out sources whose cosine similarity is lower, or that have no vector yet. Not for mode `text`."""
    include_concepts: Annotated[bool, Field(strict=True)] = False
    expand_context: Annotated[bool, Field(strict=True)] = False
    """Give each hit's neighbours too."""
    window_size: Window = 2
    """How many paragraphs before and after."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are searched; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology

    @model_validator(mode="after")
    def _asks_something(self) -> SourceSearch:
        if self.query_text is None and self.query_vector is None:
            raise ValueError("query_text is missing")
        if (self.query_vector is None) != (self.space is None):
            raise ValueError("query_vector and space go together")
        if self.query_vector is not None and not any(self.query_vector):
            raise ValueError("query_vector is zero; it points nowhere")
        if self.query_text is None and self.mode != "vector":
            raise ValueError(f"mode {self.mode!r} needs query_text")
        if self.query_text is not None and not self.query_text.strip():
            raise ValueError("query_text is blank")
        if self.mode == "text" and self.min_similarity is not None and self.query_vector is None:
            raise ValueError("min_similarity needs vectors, and mode 'text' searches without; leave one out")
        return self


class Place(Answer):
    """A source and its exact place."""

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
    full_text: str


class MatchedChunk(Answer):
    """A part of a document; offsets are code points of the document's text."""

    text: str
    start: int
    end: int
    source_ids: list[str] = Field(default_factory=list[str])
    """The sources it lies in, in reading order: several where chunks are larger than a paragraph."""


class Ranks(Answer):
    """At which place each lane had the hit, from 1; none where it did not find it."""

    vector: int | None = None
    text: int | None = None


class SourceHit(Place):
    """A source that was found."""

    similarity: float | None
    """Cosine of query and passage, -1 to 1; none without a vector. Compare those of one space only."""
    space: str | None = None
    """The embedding space of the similarity."""
    score: float
    """What the hits are ordered by: the similarity, the full-text score, or the fused score."""
    ranks: Ranks
    chunk: MatchedChunk
    """What matched."""
    parent: MatchedChunk | None = None
    """The larger part to read in its place, where the ontology's strategy is `hierarchical`."""
    concepts: list[str] = Field(default_factory=list[str])
    context: list[Place] | None = None
    """The neighbours and the source itself in reading order, if asked for."""


class Degradation(Answer):
    """Something that could not be done, and what was done instead."""

    part: Literal["embedding", "vector_index", "text_index", "query", "vectors"]
    effect: str


class SourceHits(Answer):
    """The answer to a search."""

    query_text: str | None
    mode: Mode
    """The mode that was used; another than the one asked for is explained in `degraded`."""
    space: str | None
    """The one embedding space of this answer; none without vectors, or when there are several."""
    spaces: list[str] = Field(default_factory=list[str])
    """All embedding spaces that were searched: the question was embedded once in each."""
    sources: list[SourceHit]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class SourceContext(Answer):
    """A source among its neighbours of the same document."""

    source_id: str
    window_size: int
    sources: list[Place]
