"""Pictures by their own vectors, and by how they look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Lookup, Row
from kg_api.graph.filters.sources import SourceFilter
from kg_api.graph.search.passages import Filters, LaneHits, SpaceVectors, to_lane_hit
from kg_api.graph.spaces.registry import Space

NO_WORDS = SpaceVectors(vectors={}, properties={}, spaces={})


@dataclass(frozen=True, slots=True)
class NearestPictures:
    """The pictures nearest to a vector of a space of pictures; the filter runs inside the index."""

    vector: NDArray[np.float32]
    space: Space
    ontologies: Sequence[str]
    document_ids: Sequence[str] | None
    """None: all of the ontologies."""
    limit: int
    words: SpaceVectors = field(default=NO_WORDS)
    """What the pictures' words are measured by."""
    sources: SourceFilter = field(default_factory=SourceFilter)

    @property
    def lookup(self) -> Lookup:
        given: Row = {
            "vector": Vector.from_numpy(self.vector),
            "property": self.space.vector_property,
            "ontologies": list(self.ontologies),
            "limit": self.limit,
            **self.words.parameters(),
        }
        if self.sources.fits:
            within = Filters(None, self.document_ids, self.sources).scope()
            return Lookup("search/images_fitting", {**within, **given}, self.space.key)
        if self.document_ids is None:
            return Lookup("search/images_by_vector", given, self.space.key)
        ids = list(self.document_ids)
        return Lookup("search/images_by_vector_in_documents", {**given, "document_ids": ids}, self.space.key)

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        del graph  # one look is all
        return LaneHits([to_lane_hit(row, row["score"]) for row in found], cut=len(found) >= self.limit)


def hashes_of(
    graph: Graph,
    ontologies: Sequence[str],
    filters: Filters,
    limit: int,
    *,
    without: Space | None = None,
) -> dict[str, int]:
    """The perceptual hashes of images that fit, by id; of all, or of those without a vector in a space."""
    rows = graph.read(
        "images/hashes",
        ontologies=list(ontologies),
        document_ids=filters.scope()["document_ids"],
        fits=list(filters.sources.fits),
        limit=limit,
        property=None if without is None else without.vector_property,
    )
    return {row["source_id"]: int(row["perceptual_hash"], 16) for row in rows}
