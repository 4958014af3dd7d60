"""The lanes of a search: what each asks the database, and what its answer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Lookup, Row
from kg_api.graph.filters.sources import SourceFilter, keep_fitting
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import CarriedConcept

MAX_CHUNKS = 1000
TEXT_INDEX = "source_words"


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """Where in its first source a chunk begins and in its last one it ends, in code points."""

    chunk_id: str
    offset: int
    end_offset: int
    covers: tuple[str, ...]
    """The sources that it covers, in reading order."""
    parent_id: str | None
    """The chunk that is read in its place."""


class FoundSource(NamedTuple):
    """Which source was found: as much as it takes to bring what was found into an order."""

    source_id: str
    ontology: str
    document_id: str


class LaneHit(NamedTuple):
    """What one lane found. The lane's list is in its own order, the best first.

    A search makes a hundred: as frozen dataclasses they and what is made of them took half a millisecond.
    """

    source: FoundSource
    similarity: float | None
    score: float
    """The lane's own measure."""
    chunk: FoundChunk | None = None
    """The part that matched; none: the whole source."""
    without_vector: bool = False
    """Found by words, and has no vector that the question's could be compared with."""
    through: tuple[CarriedConcept, ...] = ()
    """The concepts that led to it."""


@dataclass(frozen=True, slots=True)
class LaneHits:
    """What one lane found, the best first."""

    found: list[LaneHit]
    cut: bool
    """Whether there may be more behind them."""
    seen: frozenset[str] = frozenset()
    """Words that were watched and that one of them has at least."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Where to look; None: everywhere."""

    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    sources: SourceFilter = field(default_factory=SourceFilter)
    """Which of their sources."""

    @property
    def image(self) -> bool | None:
        """Only images, or only passages; None: both."""
        return self.sources.image

    def scope(self) -> Row:
        """Return the parameters of statements; null: everywhere."""
        return {
            "ontologies": None if self.ontologies is None else list(self.ontologies),
            "document_ids": None if self.document_ids is None else list(self.document_ids),
            **self.sources.parameters(),
        }


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """The question's vector in each space that is searched, and which ontologies are not in the first one."""

    vectors: Mapping[str, NDArray[np.float32]]
    properties: Mapping[str, str]
    spaces: Mapping[str, str]

    def parameters(self) -> dict[str, Any]:
        return {
            "vectors": {slug: Vector.from_numpy(vector) for slug, vector in self.vectors.items()},
            "properties": dict(self.properties),
            "spaces": dict(self.spaces),
        }


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What a chunk says, and where in its document."""

    text: str
    start: int
    end: int
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearestPassages:
    """The passages nearest to a vector of a space; the filter runs inside the index."""

    vector: NDArray[np.float32]
    space: Space
    filters: Filters
    limit: int
    """Chunks to fetch; where many are of the same sources it is raised, up to 1,000."""
    wanted: int = 0
    """Sources to find, if there are so many."""
    exact: bool = False
    """Compare every vector, instead of asking the index."""
    each_chunk: bool = False
    """Give each chunk, not only the best one of each source and parent."""
    candidates: int = 0
    """Chunks that the index is asked for, of which the nearest are fetched, if that is more."""

    @property
    def lookup(self) -> Lookup:
        return _exactly(self, self._first) if self._compares else _nearest(self, self._first)

    @property
    def _compares(self) -> bool:
        """Whether each vector is compared, instead of those that the index returns."""
        return self.exact or bool(self.filters.image)

    @property
    def _first(self) -> int:
        """How many chunks to fetch at first; of all that the index returns, few may fit conditions."""
        takes_all = not self.filters.image and (self.exact or self.filters.sources.fits)
        return MAX_CHUNKS if takes_all else self.limit

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """Return what was found, and look further if that is of too few sources.

        If what fits is behind all that the index returns, each fitting vector is compared.
        """
        limit, compares = self._first, self._compares
        while True:
            fitting = found if compares else self._fitting(graph, found)
            hits = [to_lane_hit(row) for row in fitting] if self.each_chunk else _best_of_each(fitting)
            if len(hits) >= self.wanted or len(found) < limit or (limit >= MAX_CHUNKS and compares):
                return LaneHits(hits, cut=len(found) >= limit)
            if limit < MAX_CHUNKS:
                limit = min(MAX_CHUNKS, 4 * limit)
            elif self.filters.sources:
                compares = True
            else:
                return LaneHits(hits, cut=True)
            (found,) = graph.look_up([_exactly(self, limit) if compares else _nearest(self, limit)])

    def _fitting(self, graph: Graph, found: Sequence[Row]) -> Sequence[Row]:
        """Return what fits of the index's answer: each chunk by the first source it covers that fits."""
        sources = self.filters.sources
        if not sources.fits:
            return [row for row in found if sources.image is None or row["image"] is sources.image]
        kept = keep_fitting(graph, sources, (each for row in found for each in _covered(row)))
        fitting = ((row, [each for each in _covered(row) if each in kept]) for row in found)
        return [{**row, "source_id": own[0]} for row, own in fitting if own]


def _covered(row: Row) -> list[str]:
    return row["covers"] or [row["source_id"]]


def by_vector(graph: Graph, nearest: NearestPassages) -> LaneHits:
    """Find the passages nearest to a vector."""
    (found,) = graph.look_up([nearest.lookup])
    return nearest.hits(graph, found)


def vectors_of(graph: Graph, hits: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float32]]:
    """The vectors of some hits by their identity; one without is missing.

    Args:
        graph: where they are.
        hits: each with identity, source_id, chunk_id or none, and the property of its space's slot.
    """
    rows = graph.read("search/vectors_of", hits=list(hits)) if hits else []
    return {row["identity"]: np.asarray(row["vector"].to_numpy(), dtype=np.float32) for row in rows}


def _exactly(asked: NearestPassages, limit: int) -> Lookup:
    given = {**_parameters(asked, limit), **asked.filters.scope(), "space": asked.space.key}
    return Lookup("search/exactly", given)


def _nearest(asked: NearestPassages, limit: int) -> Lookup:
    given, slug = _parameters(asked, limit), asked.space.key
    given["candidates"] = max(limit, asked.candidates)
    if asked.filters.document_ids is not None:
        ids = list(asked.filters.document_ids)
        return Lookup("search/by_vector_in_documents", {**given, "document_ids": ids}, slug)
    if asked.filters.ontologies is not None:
        names = list(asked.filters.ontologies)
        return Lookup("search/by_vector_in_ontologies", {**given, "ontologies": names}, slug)
    return Lookup("search/by_vector", given, slug)


def _parameters(asked: NearestPassages, limit: int) -> Row:
    vector = Vector.from_numpy(asked.vector)
    return {"vector": vector, "limit": limit, "property": asked.space.vector_property}


def chunk_texts(graph: Graph, chunk_ids: Sequence[str]) -> dict[str, ChunkText]:
    """What some chunks say, by id; one that has gone meanwhile is missing."""
    rows = graph.read("chunks/texts", chunk_ids=list(dict.fromkeys(chunk_ids))) if chunk_ids else []
    return {row["chunk_id"]: _text(row) for row in rows}


def _text(row: Row) -> ChunkText:
    parts = row["parts"]
    first, last = parts[0], parts[-1]
    start, end = first["start"] + row["offset"], last["start"] + row["end_offset"]
    text = "".join(part["full_text"] for part in parts)[row["offset"] :][: end - start]
    return ChunkText(text, start, end, tuple(part["source_id"] for part in parts))


def _best_of_each(rows: Sequence[Row]) -> list[LaneHit]:
    """The best chunk of each source, and of each parent."""
    best: dict[str, LaneHit] = {}
    parents: set[str] = set()
    for row in rows:
        if row["source_id"] in best or row["parent_id"] in parents:
            continue
        best[row["source_id"]] = to_lane_hit(row)
        if row["parent_id"] is not None:
            parents.add(row["parent_id"])
    return list(best.values())


def to_lane_hit(
    row: Row,
    score: float | None = None,
    *,
    without_vector: bool = False,
    through: tuple[CarriedConcept, ...] = (),
) -> LaneHit:
    """What a row of a lane says; it is measured by its similarity where there is no other score."""
    chunk = None
    if row["chunk_id"] is not None:
        places = (row["chunk_id"], row["offset"], row["end_offset"])
        chunk = FoundChunk(*places, tuple(row["covers"]), row["parent_id"])
    source = FoundSource(row["source_id"], row["ontology"], row["document_id"])
    similarity = row["similarity"]
    measure = similarity if score is None else score
    return LaneHit(source, similarity, measure, chunk, without_vector, through)
