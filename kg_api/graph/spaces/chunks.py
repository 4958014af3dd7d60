"""Chunks and vectors on their way in: all of a batch in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.spaces.due import SourceText
from kg_api.graph.spaces.marks import Mark, reject, require_writable
from kg_api.graph.spaces.registry import Space


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a chunk is, from its first source to its last; it keeps its place when text before it changes.

    `offset` counts code points of the first source, `end_offset` of the last one.
    """

    chunk_id: str
    document_id: str
    source_ids: tuple[str, ...]
    offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    place: ChunkPlace
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NewParent:
    """A chunk that is read in place of those found in it."""

    place: ChunkPlace
    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """What embedding some sources gave."""

    ontology: str
    sources: Sequence[SourceText]
    """Those that are done with it, and any other that their chunks cover too."""
    due: frozenset[str]
    """Ids of those that are done with it."""
    vectors: dict[str, NDArray[np.float32]]
    """Of sources that are one chunk each, by source."""
    chunks: Sequence[NewChunk]
    """Those that are not there yet."""
    parents: Sequence[NewParent]
    keep: frozenset[str]
    """Ids of all chunks that these sources shall have."""
    versions: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Of documents whose chunks cover several sources: they must still be what was planned."""


def chunk_ids_of(graph: Graph, source_ids: Collection[str], space: Space) -> set[str]:
    """Ids of the chunks that some sources have in a space."""
    rows = graph.read("chunks/of_sources", source_ids=sorted(source_ids), space=space.key)
    return {row["chunk_id"] for row in rows}


def write_batch(tx: Transaction, batch: EmbeddedBatch, space: Space, mark: Mark) -> int:
    """Write within the caller's transaction what still fits the sources as they are now.

    A source that has changed or moved apart meanwhile is passed over and stays due.

    Returns:
        How many sources are done.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero. Neo4j would store it without an
            error and leave it out of the index.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_fitting(tx, space, [*batch.vectors.values(), *(chunk.vector for chunk in batch.chunks)])
    changed = _find_changed(tx, batch.versions)
    held = _hold(tx, [source for source in batch.sources if source.document_id not in changed])
    places = [each.place for each in (*batch.chunks, *batch.parents)]
    torn = {identity for place in places if not _together(place, held) for identity in place.source_ids}
    done = sorted(identity for identity in batch.due if identity in held and identity not in torn)
    chunks = [chunk for chunk in batch.chunks if torn.isdisjoint(chunk.place.source_ids)]
    parents = [parent for parent in batch.parents if torn.isdisjoint(parent.place.source_ids)]
    _delete_others(tx, done, batch.keep, space, mark)
    _write_vectors(
        tx, {identity: batch.vectors[identity] for identity in done if identity in batch.vectors}, space
    )
    _write_chunks(tx, batch.ontology, chunks, parents, space)
    rows = [{"source_id": identity, "has_chunks": identity not in batch.vectors} for identity in done]
    tx.run("sources/mark", rows=rows, property=space.vector_property, **mark.parameters())
    return len(done)


def reject_source(tx: Transaction, source: SourceText, space: Space, mark: Mark, reason: str) -> None:
    """Mark a source that the model does not take, unless it has changed.

    Raises:
        LeaseLost: the space is being removed, or is of another model now.
    """
    identity, text_hash = source.source_id, source.content_hash
    if reject(tx, space, mark, identity=identity, text_hash=text_hash, reason=reason):
        _delete_others(tx, [source.source_id], (), space, mark)


def require_fitting(tx: Transaction, space: Space, vectors: Iterable[NDArray[np.float32]]) -> None:
    """Refuse vectors that cannot be written to a space.

    Raises:
        EmbeddingFailed: one is of the wrong size, not finite or zero.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_writable(tx, space)
    for vector in vectors:
        check_vector(vector, space.dimensions)


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
        raise EmbeddingFailed("a vector is zero; it has no direction")


def _delete_others(
    tx: Transaction, source_ids: Sequence[str], keep: Collection[str], space: Space, mark: Mark
) -> None:
    """Delete the chunks of some sources but for those to keep."""
    ids = {"source_ids": list(source_ids), "keep": sorted(keep)}
    tx.run("chunks/delete_others", **ids, space=space.key, mark_property=mark.key)


def _find_changed(tx: Transaction, versions: dict[str, str | None]) -> set[str]:
    """The documents that were written again, or have gone, since they were planned."""
    if not versions:
        return set()
    rows = tx.run("documents/hold_versions", document_ids=sorted(versions))
    now = {row["document_id"]: row["version"] for row in rows}
    return {each for each, version in versions.items() if each not in now or now[each] != version}


def _hold(tx: Transaction, sources: Iterable[SourceText]) -> dict[str, Row]:
    rows = [
        {"source_id": source.source_id, "content_hash": source.content_hash}
        for source in sorted(sources, key=lambda source: source.source_id)
    ]
    return {row["source_id"]: row for row in tx.run("sources/hold", rows=rows)}


def _together(place: ChunkPlace, held: dict[str, Row]) -> bool:
    """Whether the sources of a chunk are all there and still follow each other."""
    if not all(identity in held for identity in place.source_ids):
        return False
    paragraphs = [held[identity]["paragraph"] for identity in place.source_ids]
    return all(following == paragraph + 1 for paragraph, following in pairwise(paragraphs))


def _write_vectors(tx: Transaction, vectors: dict[str, NDArray[np.float32]], space: Space) -> None:
    rows = [
        {"source_id": identity, "vector": Vector.from_numpy(vector)} for identity, vector in vectors.items()
    ]
    if rows:
        tx.run("sources/write_vectors", rows=rows, property=space.vector_property)


def _write_chunks(
    tx: Transaction, ontology: str, chunks: Sequence[NewChunk], parents: Sequence[NewParent], space: Space
) -> None:
    """A vector goes as the driver's own type, which is written nearly four times faster than a list."""
    of_space = {"space": space.key, "ontology": ontology}
    rows = [{**asdict(chunk.place), "vector": Vector.from_numpy(chunk.vector)} for chunk in chunks]
    if rows:
        tx.run("chunks/write", rows=rows, property=space.vector_property, **of_space)
    rows = [{**asdict(parent.place), "child_ids": list(parent.child_ids)} for parent in parents]
    if rows:
        tx.run("chunks/write_parents", rows=rows, **of_space)
