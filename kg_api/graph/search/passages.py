"""The lanes of a search: one statement, one round trip each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Row
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


@dataclass(frozen=True, slots=True)
class FoundSource:
    """Which source was found: as much as it takes to bring what was found into an order."""

    source_id: str
    ontology: str
    document_id: str


@dataclass(frozen=True, slots=True)
class LaneHit:
    """What one lane found. The lane's list is in its own order, the best first."""

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


@dataclass(frozen=True, slots=True)
class Filters:
    """Where to look; None: everywhere."""

    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """The question's vector in each space that is searched, and which ontologies are not in the first one."""

    vectors: Mapping[str, NDArray[np.float32]]
    properties: Mapping[str, str]
    spaces: Mapping[str, str]

    def parameters(self) -> dict[str, Any]:
        """As statements take it."""
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


def by_vector(
    graph: Graph,
    vector: NDArray[np.float32],
    space: Space,
    filters: Filters,
    limit: int,
    *,
    wanted: int = 0,
    exact: bool = False,
    each_chunk: bool = False,
) -> LaneHits:
    """The passages nearest to a vector of a space; the filter runs inside the index.

    Args:
        graph: where they are.
        vector: of the question.
        space: of the vector.
        filters: where to look.
        limit: chunks to fetch; where many are of the same sources it is raised, up to 1,000.
        wanted: sources to find, if there are so many.
        exact: compare every vector, instead of asking the index.
        each_chunk: give each chunk, not only the best one of each source and parent.
    """
    nearest = _exactly if exact else _nearest
    if exact:  # one scan, whatever is asked for
        limit = MAX_CHUNKS
    while True:
        rows = found_by(nearest(graph, vector, space, filters, limit))
        found = [to_lane_hit(row) for row in rows] if each_chunk else _best_of_each(rows)
        if len(found) >= wanted or len(rows) < limit or limit >= MAX_CHUNKS:
            return LaneHits(found, cut=len(rows) >= limit)
        limit = min(MAX_CHUNKS, 4 * limit)


def vectors_of(graph: Graph, hits: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float32]]:
    """The vectors of some hits by their identity; one without is missing.

    Args:
        graph: where they are.
        hits: each with identity, source_id, chunk_id or none, and the property of its space's slot.
    """
    rows = graph.read("search/vectors_of", hits=list(hits)) if hits else []
    return {row["identity"]: np.asarray(row["vector"].to_numpy(), dtype=np.float32) for row in rows}


def _exactly(
    graph: Graph, vector: NDArray[np.float32], space: Space, filters: Filters, limit: int
) -> list[Row]:
    query: dict[str, Any] = {"vector": Vector.from_numpy(vector), "limit": limit, "space": space.key}
    query["property"] = space.vector_property
    if filters.document_ids is not None:
        return graph.read("search/exactly_in_documents", **query, document_ids=list(filters.document_ids))
    if filters.ontologies is not None:
        return graph.read("search/exactly_in_ontologies", **query, ontologies=list(filters.ontologies))
    return graph.read("search/exactly", **query)


def _nearest(
    graph: Graph, vector: NDArray[np.float32], space: Space, filters: Filters, limit: int
) -> list[Row]:
    query = {"vector": Vector.from_numpy(vector), "limit": limit, "property": space.vector_property}
    slug = space.key
    if filters.document_ids is not None:
        ids = list(filters.document_ids)
        return graph.read("search/by_vector_in_documents", slug, **query, document_ids=ids)
    if filters.ontologies is not None:
        names = list(filters.ontologies)
        return graph.read("search/by_vector_in_ontologies", slug, **query, ontologies=names)
    return graph.read("search/by_vector", slug, **query)


def by_text(graph: Graph, query: str, asked: SpaceVectors, limit: int) -> list[LaneHit]:
    """The sources that a full-text query (in Lucene syntax, filters included) finds.

    Their similarity to the question's vector comes along, so that a fused list can show a measure for all.
    """
    rows = found_by(graph.read("search/by_text", query=query, limit=limit, **asked.parameters()))
    return [
        replace(
            to_lane_hit(row), score=row["score"], without_vector=row["asked"] and row["similarity"] is None
        )
        for row in rows
    ]


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


def _best_of_each(rows: list[Row]) -> list[LaneHit]:
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


def found_by(rows: list[Row]) -> list[Row]:
    """What a lane's statement found: one row, for the driver takes 15 microseconds for each (ADR 40)."""
    return rows[0]["found"]


def to_lane_hit(row: Row) -> LaneHit:
    """What a row of a lane says."""
    chunk = None
    if row["chunk_id"] is not None:
        places = (row["chunk_id"], row["offset"], row["end_offset"])
        chunk = FoundChunk(*places, tuple(row["covers"]), row["parent_id"])
    source = FoundSource(row["source_id"], row["ontology"], row["document_id"])
    return LaneHit(source, row["similarity"], row["similarity"], chunk)
