"""Similar passages of other documents, the graph that they make, and the map of all."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kg_api.schemas.base import Answer, Called, Flag
from kg_api.schemas.documents import DocumentRef
from kg_api.schemas.filters import Filtered, Narrowed, Similarity
from kg_api.schemas.search import Degradation, DescribedPlace, Limit, MatchedChunk, Place, SourcePlace
from kg_api.schemas.vocabulary import MAX_NEIGHBOURS, MAX_NODES, MAX_PAIRS

MAX_SEEDS = 200


class _Near(Filtered):
    min_similarity: Similarity | None = None
    """Leave out what is less similar. The same number means different things to different models."""


class SimilarSearch(_Near):
    limit: Limit = 10
    same_document: Flag = False
    group_duplicates: Flag = True
    exact: Flag = False


class Duplicate(Answer):
    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    similarity: float | None


class SimilarSource(DescribedPlace):
    similarity: float | None
    """Cosine of the two, -1 to 1: of their nearest chunks, where they have several. None: found by words."""
    score: float
    """What they are ordered by: the similarity, or full text's own score."""
    chunk: MatchedChunk
    own_chunk: MatchedChunk
    """The part of the source asked for that this one is near to."""
    near_duplicate: bool
    """Whether it says almost the same as the source asked for: 85 % of the phrases of both are in both."""
    duplicates: list[Duplicate] = Field(default_factory=list[Duplicate])


class SimilarSources(Answer):
    source: Place
    by: Literal["vector", "text"]
    """What was compared; `text` when the source has no vector, which `degraded` explains."""
    space: str | None
    sources: list[SimilarSource]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class RepeatedText(Answer):
    """A text that many documents repeat, such as a licence: it says nothing of any of them."""

    text: str
    documents: int
    source_ids: list[str]


class SimilarDocumentSearch(_Near):
    repeated: Flag = False
    """Compare text that many documents repeat, too; else it is set apart."""

    limit: Limit = 10
    pairs: Annotated[int, Field(strict=True, ge=1, le=MAX_PAIRS)] = 3


class AlikePair(Answer):
    own: Place
    other: Place
    similarity: float
    near_duplicate: bool


class SimilarDocument(DocumentRef):
    similarity: float
    score: float
    """What they are ordered by: the mean over the sources compared of the similarity to what is nearest here;
    0 for those that have nothing here among the passages nearest to them."""
    sources: int
    pairs: list[AlikePair]


class SimilarDocuments(DocumentRef):
    sources: int
    compared: int
    space: str
    documents: list[SimilarDocument]
    repeated: list[RepeatedText] = Field(default_factory=list[RepeatedText])
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class GraphRequest(_Near, Narrowed):
    source_ids: Annotated[list[Called], Field(min_length=1, max_length=MAX_SEEDS)] | None = None
    """Begin with these, and add what is like them; `ONTOLOGY/DOCUMENT#PARAGRAPH` is taken, too."""
    neighbours: Annotated[int, Field(strict=True, ge=1, le=MAX_NEIGHBOURS)] = 5
    max_nodes: Annotated[int, Field(strict=True, ge=1, le=MAX_NODES)] = 1000
    across_documents_only: Flag = True
    repeated: Flag = False

    @model_validator(mode="after")
    def _one_beginning(self) -> GraphRequest:
        if self.source_ids is not None and self.documents is not None:
            raise ValueError("source_ids and documents cannot be used together; name one of them")
        return self


class SourceNode(SourcePlace):
    degree: int
    group: int | None
    """Its place in `groups`; none when nothing here says almost the same."""
    repeated: bool = False


class SourceEdge(Answer):
    """Two sources that are similar; each pair stands once."""

    a: str
    b: str
    similarity: float
    near_duplicate: bool
    linked: str | None = None
    """The id of the proposal by which somebody linked the two (`GET /proposals/{id}`)."""


class SourceGraph(Answer):
    nodes: list[SourceNode]
    edges: list[SourceEdge]
    """The most similar first: for each node its nearest, so far as they are near enough, and all links that
    somebody accepted."""
    groups: list[list[str]]
    repeated: list[RepeatedText] = Field(default_factory=list[RepeatedText])
    total: int
    """Sources that were asked for, or found; `nodes` has fewer when they are more than `max_nodes`."""
    truncated: bool
    spaces: list[str]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class MapDocument(Answer):
    document_id: str
    document: str
    title: str
    date: str | None = None
    """The day, or the first day of the month, that its metadata name as `date`."""


class MapCommunity(Answer):
    community_id: str
    name: str


class PassageMap(Answer):
    """The passages of an ontology as points: column by column, each as long as `source_ids`."""

    ontology: str
    space: str
    source_ids: list[str]
    x: list[float]
    y: list[float]
    document: list[int]
    community: list[int | None]
    """The place in `communities`: that which the passage's concepts are most of; none: of no community."""
    documents: list[MapDocument]
    communities: list[MapCommunity]
    total: int
    explained: tuple[float, float]
    """How much of the variance of the vectors each axis shows, 0 to 1."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
