"""Similar passages, the similarity graph, and the passage map."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from kg_api.schemas.base import Answer, Called, Flag
from kg_api.schemas.filters import Filtered, Narrowed, Similarity
from kg_api.schemas.search import Degradation, DescribedPlace, Limit, MatchedChunk, Place, SourcePlace
from kg_api.schemas.vocabulary import MAX_NEIGHBOURS, MAX_NODES

MAX_SEEDS = 200


class _Near(Filtered):
    min_similarity: Similarity | None = None
    """Minimum cosine similarity. Its meaning depends on the model."""


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
    similarity: float


class SimilarSource(DescribedPlace):
    similarity: float
    """Cosine similarity of the nearest chunks, -1 to 1. Sort key."""
    score: float
    chunk: MatchedChunk
    own_chunk: MatchedChunk
    """Nearest part of the requested source."""
    near_duplicate: bool
    """Whether the sources share 85 % of their phrases."""
    duplicates: list[Duplicate] = Field(default_factory=list[Duplicate])


class SimilarSources(Answer):
    source: Place
    space: str
    sources: list[SimilarSource]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class GraphRequest(_Near, Narrowed):
    source_ids: Annotated[list[Called], Field(min_length=1, max_length=MAX_SEEDS)] | None = None
    """Seeds of the graph: id or `ONTOLOGY/DOCUMENT#PARAGRAPH`. kg adds similar sources."""
    neighbours: Annotated[int, Field(strict=True, ge=1, le=MAX_NEIGHBOURS)] = 5
    max_nodes: Annotated[int, Field(strict=True, ge=1, le=MAX_NODES)] = 1000
    across_documents_only: Flag = True

    @model_validator(mode="after")
    def _one_beginning(self) -> GraphRequest:
        if self.source_ids is not None and self.documents is not None:
            raise ValueError("source_ids and documents cannot be used together. Omit one of the two")
        return self


class SourceNode(SourcePlace):
    degree: int
    group: int | None
    """Index in `groups`. Null without near-duplicates."""


class SourceEdge(Answer):
    """Pair of similar sources. Each pair occurs once."""

    a: str
    b: str
    similarity: float
    near_duplicate: bool
    linked: str | None = None
    """Id of the accepted proposal that links the sources (`GET /proposals/{id}`)."""


class SourceGraph(Answer):
    nodes: list[SourceNode]
    edges: list[SourceEdge]
    """Nearest neighbours of each node above the minimum similarity, nearest first, and accepted links."""
    groups: list[list[str]]
    total: int
    """Number of requested or found sources. `nodes` has at most `max_nodes` of them."""
    truncated: bool
    spaces: list[str]
    degraded: list[Degradation]
    timings_ms: dict[str, float]


class MapDocument(Answer):
    document_id: str
    document: str
    title: str
    date: str | None = None
    """Day, or first day of the month, of the metadata key `date`."""


class PassageMap(Answer):
    """Passages of an ontology as points. Each column is as long as `source_ids`."""

    ontology: str
    space: str
    source_ids: list[str]
    x: list[float]
    y: list[float]
    document: list[int]
    documents: list[MapDocument]
    total: int
    explained: tuple[float, float]
    """Share of the vectors' variance on each axis, 0 to 1."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
