"""Checks if the vectors in a space are complete, valid, and found by the index."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from kg_api.graph.client import Graph, Row
from kg_api.graph.search import Filters, NearestPassages, by_vector
from kg_api.graph.spaces import Fingerprint, Space

PORTION = 2000
SAMPLED = 16
NEAREST = 10
SAME = 0.9999  # cosine of equal vectors, of which the index may return either


def count_vectors(graph: Graph, ontology: str, space: Space, mark: Fingerprint) -> Counter[str]:
    """Check every vector that an ontology has in a slot, in batches."""
    # `built` sources have a mark. Sources `without` have neither a vector nor a chunk with a vector. An index
    # ignores `wrong` vectors: another size, zero, or not finite. `orphans` are `chunks` without a source.
    counts = Counter[str]()
    names = {"ontology": ontology, **_names(space)}
    marks = mark.parameters()
    place = ["", -1]
    while place is not None:
        at = {"after_document": place[0], "after_paragraph": place[1]}
        row = graph.read("spaces/check_sources", **names, **marks, **at, limit=PORTION)[0]
        place = row.pop("last")
        counts.update(row)
    after = ""
    while after is not None:
        row = graph.read("spaces/check_chunks", **names, after=after, limit=PORTION)[0]
        after = row.pop("last")
        counts.update(row)
    return counts


def find_lost_in_index(graph: Graph, ontology: str, space: Space, mark: Fingerprint) -> tuple[int, int]:
    """Query the index for some vectors, to count those that are not found."""
    places = [f"{random.getrandbits(32):08x}" for _ in range(SAMPLED - 1)]
    names = {**_names(space), **mark.parameters()}
    del names["dimensions"]
    rows = graph.read("spaces/sample", ontology=ontology, places=["", *places], **names)
    vectors = [row for row in rows if row["vector"] is not None]
    return sum(not _is_found(graph, ontology, space, row) for row in vectors), len(vectors)


def _is_found(graph: Graph, ontology: str, space: Space, sampled: Row) -> bool:
    vector = np.asarray(sampled["vector"], dtype=np.float32)
    nearest = NearestPassages(vector, space, Filters([ontology]), NEAREST, each_chunk=True)
    hits = by_vector(graph, nearest).found
    if sampled["chunk_id"] is None:
        found = any(hit.source.source_id == sampled["source_id"] and hit.chunk is None for hit in hits)
    else:
        found = any(hit.chunk is not None and hit.chunk.chunk_id == sampled["chunk_id"] for hit in hits)
    return found or (len(hits) == NEAREST and hits[-1].score >= SAME)


def _names(space: Space) -> dict[str, str | int]:
    return {"property": space.vector_property, "key": space.key, "dimensions": space.dimensions}
