"""Finds sources and images near a vector."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.client import Graph, Lookup, Row, drop_deleted_rows, split_into_portions
from kg_api.graph.filters import SourceFilter, keep_fitting
from kg_api.graph.reach import is_visible
from kg_api.graph.search import SOURCE_COLUMNS, Filters, LaneHits, SpaceVectors, to_lane_hit
from kg_api.graph.spaces import Space
from kg_api.schemas.search import DescribedPlace, Place

PORTION = 1000
INDEX_DEPTH = 1000
"""Maximum number of index results to filter, for all sources together. If too few satisfy the filter, kg
compares every vector that does."""
FIRST, LAST = "", "~"  # before and after all document ids, which are hexadecimal


@dataclass(frozen=True, slots=True)
class VectorPart:
    """Vector for a source, or for a chunk that covers it."""

    vector: NDArray[np.float32]  # shape (dimensions,), length 1
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True)
class SimilarityQuery:
    place: Place
    parts: Sequence[VectorPart]
    same_document: bool

    def rows(self, number: int, *, among: bool) -> list[Row]:
        """Build rows with a vector and documents to search. The source's own document is not included."""
        own = self.place.document_id
        ranges = [(FIRST, LAST)] if self.same_document or among else [(FIRST, own), (own, LAST)]
        return [
            {
                "source": number,
                "part": at,
                "vector": Vector.from_numpy(part.vector),
                "after": after,
                "before": before,
            }
            for at, part in enumerate(self.parts)
            for after, before in ranges
        ]


@dataclass(frozen=True, slots=True)
class NearSource:
    asked: int
    part: int
    place: Place  # source of the passage, or the first source of a chunk over several
    similarity: float
    chunk_id: str | None
    covers: tuple[str, ...]
    parent_id: str | None


def find_nearest(
    graph: Graph,
    asked: Sequence[SimilarityQuery],
    space: Space,
    ontologies: Sequence[str],
    limit: int,
    *,
    exact: bool = False,
    document_ids: Sequence[str] | None = None,
    sources: SourceFilter | None = None,
) -> tuple[list[NearSource], bool]:
    """Find the nearest passages for sources, in one slot of a space.

    You get the same number if you use filters.
    """
    sources = sources or SourceFilter()
    if sources and not exact:
        depth = max(limit, INDEX_DEPTH // max(1, len(asked)))
        found = find_nearest(graph, asked, space, ontologies, depth, document_ids=document_ids)
        return _keep_fitting(graph, found, sources, limit) or find_nearest(
            graph, asked, space, ontologies, limit, exact=True, document_ids=document_ids, sources=sources
        )
    among = document_ids is not None
    rows = graph.read(
        "similar/nearest",
        space.key,
        asked=[row for number, each in enumerate(asked) for row in each.rows(number, among=among)],
        ontologies=list(ontologies),
        limit=limit,
        property=space.vector_property,
        document_ids=None if document_ids is None else list(document_ids),
        exact=exact,
        key=space.key,
        **sources.parameters(),
    )
    return [_build_near(row) for row in drop_deleted_rows(rows, Place)], any(row["more"] for row in rows)


def _keep_fitting(
    graph: Graph, found: tuple[list[NearSource], bool], sources: SourceFilter, limit: int
) -> tuple[list[NearSource], bool] | None:
    """Keep results from the index that match the filter. If there are too few, return None."""
    # A passage over several sources belongs to the first one that satisfies the filter.
    every, more = found
    kept = keep_fitting(graph, sources, (each for near in every for each in _list_covered(near)))
    own = [(near, next((each for each in _list_covered(near) if each in kept), None)) for near in every]
    counts = Counter(near.asked for near, first in own if first)
    if more and any(counts[number] < limit for number in {near.asked for near in every}):
        return None
    moved = {first for near, first in own if first and first != near.place.source_id}
    places = {place.source_id: place for place in describe_places(graph, moved)} if moved else {}
    fitting = [replace(near, place=places.get(first, near.place)) for near, first in own if first]
    cut = more or any(count > limit for count in counts.values())
    return [each for number in counts for each in [n for n in fitting if n.asked == number][:limit]], cut


def _list_covered(near: NearSource) -> tuple[str, ...]:
    return near.covers or (near.place.source_id,)


def count_sources(
    graph: Graph,
    ontologies: Sequence[str],
    document_ids: Sequence[str] | None = None,
    sources: SourceFilter | None = None,
) -> int:
    where = {
        "ontologies": list(ontologies),
        "document_ids": None if document_ids is None else list(document_ids),
        **(sources or SourceFilter()).parameters(),
    }
    return graph.read("similar/count_in_scope", **where)[0]["sources"]


def read_search_vectors(
    graph: Graph, source_ids: Sequence[str], answering: Mapping[str, Space], new: Space
) -> dict[str, list[VectorPart]]:
    """Read the vectors that searches use for some sources, by source id. Unknown sources have none."""
    spaces = {space.key: space for space in (new, *answering.values())}
    known = {
        "spaces": {name: space.key for name, space in answering.items()},
        "properties": {key: space.vector_property for key, space in spaces.items()},
        "new": new.key,
    }
    found: dict[str, list[VectorPart]] = {}
    for ids in split_into_portions(source_ids, PORTION):
        rows = graph.read("similar/of_sources", source_ids=list(ids), **known)
        found |= {row["source_id"]: _build_parts(row) for row in rows}
    return found


def read_source_vectors(graph: Graph, source_id: str, space: Space) -> list[VectorPart]:
    """Read the vectors of one source in a space of texts or images."""
    return read_search_vectors(graph, [source_id], {}, space).get(source_id, [])


def describe_places(graph: Graph, source_ids: Iterable[str]) -> list[DescribedPlace]:
    """Read sources by id, to describe them to readers. If a source is unknown, it is missing."""
    (row,) = graph.search("similar/by_ids", source_ids=list(dict.fromkeys(source_ids)))
    seen = (each for each in drop_deleted_rows(row["found"], Place) if is_visible(each["ontology"]))
    rows = ({**each, "metadata": json.loads(each["metadata"] or "{}")} for each in seen)
    return [DescribedPlace.model_validate(each) for each in rows]


def list_places(
    graph: Graph,
    ontologies: Sequence[str],
    document_ids: Sequence[str] | None,
    limit: int,
    sources: SourceFilter | None = None,
) -> tuple[list[Place], int]:
    documents = None if document_ids is None else list(document_ids)
    where = {"ontologies": list(ontologies), "document_ids": documents}
    fitting = (sources or SourceFilter()).parameters()
    rows = graph.read("similar/in_scope", **where, **fitting, limit=limit)
    total = len(rows) if len(rows) < limit else count_sources(graph, ontologies, document_ids, sources)
    return [Place.model_validate(row) for row in drop_deleted_rows(rows, Place)], total


def _build_parts(row: Row) -> list[VectorPart]:
    if row["vector"] is not None:
        return [VectorPart(_to_array(row["vector"]))]
    return [VectorPart(_to_array(chunk["vector"]), chunk["chunk_id"]) for chunk in row["chunks"]]


def _to_array(vector: Vector) -> NDArray[np.float32]:
    return np.asarray(vector.to_numpy(), dtype=np.float32)


def _build_near(row: Row) -> NearSource:
    return NearSource(
        asked=row["source"],
        part=row["part"],
        place=Place.model_validate(row),
        similarity=row["similarity"],
        chunk_id=row["chunk_id"],
        covers=tuple(row["covers"]),
        parent_id=row["parent_id"],
    )


# Images by vector and by appearance

NO_VECTORS = SpaceVectors(vectors={}, properties={}, spaces={})


@dataclass(frozen=True, slots=True)
class NearestPictures:
    """Search for the images that are nearest to a vector. The filter is used in the vector index."""

    vector: NDArray[np.float32]
    space: Space
    ontologies: Sequence[str]
    document_ids: Sequence[str] | None
    limit: int
    words: SpaceVectors = field(default=NO_VECTORS)  # text vectors for the similarity of the images' texts
    sources: SourceFilter = field(default_factory=SourceFilter)

    @property
    def lookup(self) -> Lookup:
        parameters: Row = {
            "vector": Vector.from_numpy(self.vector),
            "property": self.space.vector_property,
            "ontologies": list(self.ontologies),
            "limit": self.limit,
            **self.words.parameters(),
        }
        if self.sources.fits:
            within = Filters(None, self.document_ids, self.sources).scope()
            return Lookup("search/images_fitting", {**within, **parameters}, self.space.key)
        if self.document_ids is None:
            return Lookup("search/images_by_vector", parameters, self.space.key)
        ids = list(self.document_ids)
        return Lookup(
            "search/images_by_vector_in_documents", {**parameters, "document_ids": ids}, self.space.key
        )

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        del graph  # one query is sufficient
        stored = drop_deleted_rows(found, SOURCE_COLUMNS)
        return LaneHits([to_lane_hit(row, row["score"]) for row in stored], cut=len(found) >= self.limit)
