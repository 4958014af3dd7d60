"""Similar passages of other documents, the graph that they make, and the map of all."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kg_api.schemas.base import Answer, Body, Called, Flag
from kg_api.schemas.filters import DocumentNames, Ontologies, Similarity, Where
from kg_api.schemas.search import Degradation, DescribedPlace, Limit, MatchedChunk, Place, SourcePlace
from kg_api.schemas.vocabulary import MAX_NEIGHBOURS, MAX_NODES, MAX_PAIRS

MAX_SEEDS = 200


class _Scoped(Body):
    ontology: Ontologies | None = None
    """Look only in these; unset or null: in all."""
    min_similarity: Similarity | None = None
    """Leave out what is less similar. The same number means different things to different models."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are looked into; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class _Filtered(_Scoped):
    where: Where | None = None
    """Look only in documents for which all of this holds."""


class SimilarSearch(_Filtered):
    """What to look for that is like a source."""

    limit: Limit = 10
    """How many; near-duplicates that are grouped count once."""
    same_document: Flag = False
    """Look in the source's own document too."""
    group_duplicates: Flag = True
    """Give passages that say almost the same once; the first names the others."""
    exact: Flag = False
    """Compare with every vector, instead of asking the approximate index."""


class Duplicate(Answer):
    """Where a passage stands that says almost the same as another."""

    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    similarity: float | None


class SimilarSource(DescribedPlace):
    """A source that is like the one asked for."""

    similarity: float | None
    """Cosine of the two, -1 to 1: of their nearest chunks, where they have several. None: found by words."""
    score: float
    """What they are ordered by: the similarity, or full text's own score."""
    chunk: MatchedChunk
    """Its part that is nearest."""
    own_chunk: MatchedChunk
    """The part of the source asked for that this one is near to."""
    near_duplicate: bool
    """Whether it says almost the same as the source asked for: 85 % of the phrases of both are in both."""
    duplicates: list[Duplicate] = Field(default_factory=list[Duplicate])
    """Others that say almost the same as this one, the most similar first."""


class SimilarSources(Answer):
    """What is like a source."""

    source: Place
    """The one asked for."""
    by: Literal["vector", "text"]
    """What was compared; `text` when the source has no vector, which `degraded` explains."""
    space: str | None
    """The embedding space of the similarities."""
    sources: list[SimilarSource]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class RepeatedText(Answer):
    """A text that many documents repeat, such as a licence: it says nothing of any of them."""

    text: str
    """Its first 200 characters, on one line."""
    documents: int
    """How many have it, of those that were looked at."""
    source_ids: list[str]
    """The sources here that say it."""


class SimilarDocumentSearch(_Filtered):
    """What documents to look for that are like a document."""

    repeated: Flag = False
    """Compare text that many documents repeat, too; else it is set apart."""

    limit: Limit = 10
    """How many documents."""
    pairs: Annotated[int, Field(strict=True, ge=1, le=MAX_PAIRS)] = 3
    """Of each so many pairs of passages are shown, the nearest first."""


class AlikePair(Answer):
    """Two passages that are near to each other."""

    own: Place
    other: Place
    similarity: float
    """Cosine of the two, of their nearest chunks where they have several."""
    near_duplicate: bool
    """Whether both say almost the same."""


class SimilarDocument(Answer):
    """A document that is like the one asked for."""

    document_id: str
    ontology: str
    document: str
    similarity: float
    """Of the two passages that are nearest to each other."""
    score: float
    """What they are ordered by: the mean over the sources compared of the similarity to what is nearest here;
    0 for those that have nothing here among the passages nearest to them."""
    sources: int
    """How many of the sources compared have something here."""
    pairs: list[AlikePair]


class SimilarDocuments(Answer):
    """What is like a document."""

    document_id: str
    ontology: str
    document: str
    sources: int
    """Of the document asked for."""
    compared: int
    """Of them, those that have a vector and are not set apart."""
    space: str
    documents: list[SimilarDocument]
    repeated: list[RepeatedText] = Field(default_factory=list[RepeatedText])
    """What was set apart, for many documents repeat it; nothing where that is most of the document."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class GraphRequest(_Filtered):
    """Which sources to connect."""

    source_ids: Annotated[list[Called], Field(min_length=1, max_length=MAX_SEEDS)] | None = None
    """Begin with these, and add what is like them; `ONTOLOGY/DOCUMENT#PARAGRAPH` is taken, too."""
    documents: DocumentNames | None = None
    """Only sources of these documents: by name, `ONTOLOGY/NAME` or id."""
    neighbours: Annotated[int, Field(strict=True, ge=1, le=MAX_NEIGHBOURS)] = 5
    """Connect each source with so many that are most similar to it."""
    max_nodes: Annotated[int, Field(strict=True, ge=1, le=MAX_NODES)] = 1000
    across_documents_only: Flag = True
    """Connect sources of different documents only."""
    repeated: Flag = False
    """Connect text that many documents repeat, too; else it is set apart."""

    @model_validator(mode="after")
    def _one_beginning(self) -> GraphRequest:
        if self.source_ids is not None and self.documents is not None:
            raise ValueError("source_ids and documents cannot be used together; name one of them")
        return self


class SourceNode(SourcePlace):
    """A source in the graph."""

    degree: int
    """How many edges it has."""
    group: int | None
    """Its place in `groups`; none when nothing here says almost the same."""
    repeated: bool = False
    """Whether many documents repeat it: then it is set apart and has no edge."""


class SourceEdge(Answer):
    """Two sources that are similar; each pair stands once."""

    a: str
    b: str
    similarity: float
    """Cosine, of their nearest chunks where they have several."""
    near_duplicate: bool
    """Whether both are of one group."""
    linked: str | None = None
    """The id of the proposal by which somebody linked the two (`GET /proposals/{id}`)."""


class SourceGraph(Answer):
    """Sources, and which of them are similar."""

    nodes: list[SourceNode]
    """By ontology, document and place."""
    edges: list[SourceEdge]
    """The most similar first: for each node its nearest, so far as they are near enough, and all links that
    somebody accepted."""
    groups: list[list[str]]
    """Near-duplicates."""
    repeated: list[RepeatedText] = Field(default_factory=list[RepeatedText])
    """Text that many documents repeat, what most have first. Sources to begin with are never set apart."""
    total: int
    """Sources that were asked for, or found; `nodes` has fewer when they are more than `max_nodes`."""
    truncated: bool
    spaces: list[str]
    """The embedding spaces of the nodes; edges are within one."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class MapDocument(Answer):
    """A document whose passages are on a map."""

    document_id: str
    document: str
    title: str
    date: str | None = None
    """The day, or the first day of the month, that its metadata name as `date`."""


class MapCommunity(Answer):
    """A community of the coarsest level."""

    community_id: str
    name: str


class PassageMap(Answer):
    """The passages of an ontology as points: column by column, each as long as `source_ids`."""

    ontology: str
    space: str
    """The embedding space of the vectors that the points are of."""
    source_ids: list[str]
    x: list[float]
    """-1 to 1: along the axis on which they differ most."""
    y: list[float]
    """-1 to 1, on the same scale."""
    document: list[int]
    """The place in `documents`, from 0."""
    community: list[int | None]
    """The place in `communities`: that which the passage's concepts are most of; none: of no community."""
    documents: list[MapDocument]
    communities: list[MapCommunity]
    total: int
    """Passages of the ontology; `degraded` says why there are fewer points."""
    explained: tuple[float, float]
    """How much of the variance of the vectors each axis shows, 0 to 1."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
