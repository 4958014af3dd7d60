"""The lanes of a search: one statement, one round trip each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Row
from kg_api.models.search import Place


@dataclass(frozen=True, slots=True)
class Found:
    """What one lane found. The lane's list is in its own order, the best first."""

    place: Place
    similarity: float | None
    score: float
    """The lane's own measure."""
    offset: int = 0
    """Where in the source the matched chunk starts; the whole source when there is none."""
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """Where to look; None: everywhere."""

    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None


def by_vector(graph: Graph, vector: NDArray[np.float32], filters: Filters, limit: int) -> list[Found]:
    """The sources nearest to a vector; the filter runs inside the index.

    `limit` counts passages, so sources that match with several chunks make the list shorter.
    """
    query = {"vector": Vector.from_numpy(vector), "limit": limit}
    if filters.document_ids is not None:
        ids = list(filters.document_ids)
        rows = graph.read("search/by_vector_in_documents", **query, document_ids=ids)
    elif filters.ontologies is not None:
        names = list(filters.ontologies)
        rows = graph.read("search/by_vector_in_ontologies", **query, ontologies=names)
    else:
        rows = graph.read("search/by_vector", **query)
    return _best_of_each_source(rows)


def by_text(
    graph: Graph, query: str, vector: NDArray[np.float32] | None, fingerprint: str, limit: int
) -> list[Found]:
    """The sources that a full-text query (in Lucene syntax, filters included) finds.

    Their similarity to the vector comes along, so that a fused list can show one measure for all.
    """
    packed = None if vector is None else Vector.from_numpy(vector)
    rows = graph.read("search/by_text", query=query, limit=limit, vector=packed, fingerprint=fingerprint)
    return [
        Found(Place.model_validate(row), similarity=row["similarity"], score=row["score"]) for row in rows
    ]


def _best_of_each_source(rows: list[Row]) -> list[Found]:
    best: dict[str, Found] = {}
    for row in rows:
        offset, length = row["offset"] or 0, row["length"]
        found = Found(Place.model_validate(row), row["similarity"], row["similarity"], offset, length)
        held = best.setdefault(row["source_id"], found)
        if held.length is None and length is not None:  # the chunk says where, the mean how near
            best[row["source_id"]] = replace(held, offset=offset, length=length)
    return list(best.values())
