"""What lacks a vector, and vectors on their way in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed
from kg_api.graph.database import Graph, Transaction
from kg_api.models.identity import chunk_id

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DueSource:
    """A source that lacks a vector."""

    source_id: str
    full_text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """A span of a source with its vector; `offset` and `length` in code points of the source."""

    offset: int
    length: int
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddedSource:
    """A source with its vector, and with chunks when it is longer than the model takes at once."""

    due: DueSource
    vector: NDArray[np.float32]
    chunks: Sequence[EmbeddedChunk] = ()


def sources_without_vector(
    graph: Graph, ontology: str, fingerprint: str, *, after: str, limit: int
) -> list[DueSource]:
    """The next sources, by id, that lack a vector of the space with that fingerprint."""
    rows = graph.read(
        "sources/without_vector", ontology=ontology, fingerprint=fingerprint, after=after, limit=limit
    )
    return [DueSource(row["source_id"], row["full_text"], row["content_hash"]) for row in rows]


def count_without_vector(graph: Graph, ontology: str, fingerprint: str) -> int:
    """How many sources of an ontology lack a vector of the space with that fingerprint."""
    rows = graph.read("sources/count_without_vector", ontology=ontology, fingerprint=fingerprint)
    return rows[0]["missing"]


def write_vectors(
    tx: Transaction, embedded: Sequence[EmbeddedSource], fingerprint: str, dimensions: int
) -> None:
    """Write vectors within the caller's transaction, each only where the source still says what was embedded.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero. Neo4j would store it without an
            error and leave it out of the index.
    """
    for each in embedded:
        check_vector(each.vector, dimensions)
    tx.run("sources/write_vectors", rows=[_source_row(each) for each in embedded], fingerprint=fingerprint)
    chunks = [_chunk_row(each, chunk, dimensions) for each in embedded for chunk in each.chunks]
    if chunks:
        tx.run("sources/write_chunks", rows=chunks)


def check_vector(vector: NDArray[np.float32], dimensions: int) -> None:
    """Refuse what a vector index would silently leave out.

    Raises:
        EmbeddingFailed: saying what is wrong.
    """
    if vector.shape != (dimensions,):
        raise EmbeddingFailed(f"a vector has the shape {vector.shape}; the space has {dimensions} dimensions")
    if not np.isfinite(vector).all():
        raise EmbeddingFailed("a vector holds NaN or infinite values")
    if not vector.any():
        raise EmbeddingFailed("a vector is zero; it points nowhere")


def _source_row(each: EmbeddedSource) -> dict[str, Any]:
    return {
        "source_id": each.due.source_id,
        "content_hash": each.due.content_hash,
        "vector": _packed(each.vector),
    }


def _chunk_row(each: EmbeddedSource, chunk: EmbeddedChunk, dimensions: int) -> dict[str, Any]:
    check_vector(chunk.vector, dimensions)
    return {
        "source_id": each.due.source_id,
        "content_hash": each.due.content_hash,
        "chunk_id": chunk_id(each.due.source_id, chunk.offset, chunk.offset + chunk.length),
        "offset": chunk.offset,
        "length": chunk.length,
        "vector": _packed(chunk.vector),
    }


def _packed(vector: NDArray[np.float32]) -> Vector:
    """As the driver's own type, which is written nearly four times faster than a list of floats."""
    return Vector.from_numpy(vector)
