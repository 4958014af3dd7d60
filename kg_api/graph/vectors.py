"""Pending sources of an ontology, and writing the vectors of sources and chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed
from kg_api.graph.client import Graph, Row, Transaction, drop_deleted_rows
from kg_api.graph.rows import convert_times
from kg_api.graph.spaces import EXTRACTION_MARK, Fingerprint, Space, reject, require_writable
from kg_api.schemas.documents import Format, SourceBlock
from kg_api.schemas.embedding import RefusedSource
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.vocabulary import Selection

BEGINNING: Final = ("", -1)  # before the first paragraph of any document
LAST = "~"  # after every document id
SOURCE_COLUMNS: Final = (
    "source_id",
    "document_id",
    "paragraph",
    "heading",
    "start",
    "full_text",
    "content_hash",
)
"""Columns that are not null, unless the source was deleted during the read."""


@dataclass(frozen=True, slots=True)
class PendingQuery:
    """A selection of nodes of an ontology to embed."""

    ontology: str
    mark: Fingerprint
    answering_property: str  # mark property of the vectors that searches use, which may differ from the build
    selection: Selection = "due"
    forced_at: Any = None  # database time before which vectors are re-embedded
    within: tuple[str, str] = ("", "")
    """Document ids of the sources, from the first to before the second (empty: no limit)."""
    wants_all: bool = True  # whether to embed concepts of a single source that were never embedded

    def parameters(self) -> dict[str, Any]:
        return {
            "ontology": self.ontology,
            **self.mark.parameters(),
            "answering_property": self.answering_property,
            "selection": self.selection,
            "forced_at": self.forced_at,
            "until": self.within[1] or LAST,
            "wants_all": self.wants_all,
        }


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source with its text. `start` counts code points of the document's text."""

    source_id: str
    document_id: str
    paragraph: int
    heading: tuple[str, ...]
    start: int
    full_text: str
    content_hash: str
    blocks: tuple[SourceBlock, ...] = field(default=(), compare=False)
    """Set only in reads of a whole document, and empty for sources from before block kinds (ADR 7)."""

    @property
    def identity(self) -> str:
        return self.source_id

    @property
    def place(self) -> str:
        """Position in reading order."""
        return f"{self.document_id}:{self.paragraph}"


@dataclass(frozen=True, slots=True)
class DocumentAbout:
    """Inputs of a chunk's context, and the format of the document."""

    title: str
    metadata: dict[str, MetadataValue]
    document: str = ""
    format: Format = "text"


def parse_reading_place(place: str) -> tuple[str, int]:
    """Return document and paragraph of a source's `place`."""
    document, _, paragraph = place.rpartition(":")
    return (document, int(paragraph)) if document else BEGINNING


def list_pending_sources(
    graph: Graph, wanted: PendingQuery, *, after: tuple[str, int], limit: int
) -> list[SourceText]:
    """List the next pending sources, in reading order."""
    document, paragraph = after if after[0] >= wanted.within[0] else (wanted.within[0], -1)
    place = {"after": document, "after_paragraph": paragraph}
    rows = graph.read("embedding/due", **wanted.parameters(), **place, limit=limit)
    return [build_source_text(row) for row in drop_deleted_rows(rows, SOURCE_COLUMNS)]


def count_due(graph: Graph, wanted: PendingQuery) -> int:
    return graph.read("embedding/count_due", **wanted.parameters())[0]["due"]


def count_missing_embeddings(tx: Transaction, wanted: PendingQuery) -> tuple[int, int]:
    """Count the answering nodes without the wanted embedding, and those that the model rejected."""
    row = tx.run("embedding/count_behind", **wanted.parameters())[0]
    return row["behind"], row["refused"]


def read_rejected_sources(
    graph: Graph, ontology: str, mark: Fingerprint, *, limit: int
) -> list[RefusedSource]:
    rows = graph.read("sources/refused", ontology=ontology, **mark.parameters(), limit=limit)
    return [RefusedSource.model_validate(convert_times(row)) for row in rows]


def list_document_sources(graph: Graph, document_id: str) -> list[SourceText]:
    """List all sources of a document in reading order. Empty if the document was deleted."""
    rows = graph.read("sources/of_document", document_id=document_id)
    return [build_source_text(row) for row in drop_deleted_rows(rows, SOURCE_COLUMNS)]


def read_document_versions(graph: Graph, document_ids: Iterable[str]) -> dict[str, str | None]:
    """Read the last write of each document. Deleted documents are missing."""
    rows = graph.read("documents/versions", document_ids=sorted(set(document_ids)))
    return {row["document_id"]: row["version"] for row in rows}


def read_document_facts(graph: Graph, document_ids: Sequence[str]) -> dict[str, DocumentAbout]:
    rows = graph.read("documents/about", document_ids=sorted(set(document_ids)))
    return {
        row["document_id"]: DocumentAbout(
            row["title"] or "", json.loads(row["metadata"] or "{}"), row["document"], row["format"]
        )
        for row in rows
    }


def build_source_text(row: Row) -> SourceText:
    known: dict[str, Any] = {name: row.get(name) for name in SourceText.__dataclass_fields__}
    known["heading"] = tuple(row["heading"])
    known["blocks"] = tuple(map(SourceBlock, row.get("block_kinds") or (), row.get("block_starts") or ()))
    return SourceText(**known)


# Writing chunks and vectors, each batch in one transaction


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """The position of a chunk, relative to its sources, so that edits before them do not change it."""

    # `offset` counts code points of the first source, `end_offset` of the last one.

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
    """A chunk that a search returns instead of its children."""

    place: ChunkPlace
    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """The chunks and vectors of a batch of sources."""

    ontology: str
    sources: Sequence[SourceText]  # completed sources, and other sources that their chunks cover
    due: frozenset[str]  # ids of completed sources
    vectors: dict[str, NDArray[np.float32]]
    chunks: Sequence[NewChunk]
    parents: Sequence[NewParent]
    keep: frozenset[str]  # ids of all chunks that these sources keep
    versions: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Expected versions of documents whose chunks cover several sources."""


def read_chunk_ids(graph: Graph, source_ids: Collection[str], space: Space) -> set[str]:
    rows = graph.read("chunks/of_sources", source_ids=sorted(source_ids), space=space.key)
    return {row["chunk_id"] for row in rows}


def write_batch(tx: Transaction, batch: EmbeddedBatch, space: Space, mark: Fingerprint) -> int:
    """Write the vectors and chunks that still fit their sources, in the caller's transaction."""
    # A source that has changed or moved is skipped and stays pending.
    require_fitting(tx, space, [*batch.vectors.values(), *(chunk.vector for chunk in batch.chunks)])
    changed = set[str]()
    if batch.versions:
        rows = tx.run("documents/hold_versions", document_ids=sorted(batch.versions))
        now = {row["document_id"]: row["version"] for row in rows}
        changed = {
            each for each, version in batch.versions.items() if each not in now or now[each] != version
        }
    known = [
        {"source_id": source.source_id, "content_hash": source.content_hash}
        for source in sorted(batch.sources, key=lambda source: source.source_id)
        if source.document_id not in changed
    ]
    held = {row["source_id"]: row for row in tx.run("sources/hold", rows=known)}
    places = [each.place for each in (*batch.chunks, *batch.parents)]
    torn = {identity for place in places if not _are_adjacent(place, held) for identity in place.source_ids}
    done = sorted(identity for identity in batch.due if identity in held and identity not in torn)
    if any(held[identity]["has_chunks"] for identity in done):
        _delete_others(tx, done, batch.keep, space, mark)
    of_space = {"space": space.key, "ontology": batch.ontology}
    chunks = [
        {**asdict(chunk.place), "vector": Vector.from_numpy(chunk.vector)}
        for chunk in batch.chunks
        if torn.isdisjoint(chunk.place.source_ids)
    ]
    if chunks:
        tx.run("chunks/write", rows=chunks, property=space.vector_property, **of_space)
    parents = [
        {**asdict(parent.place), "child_ids": list(parent.child_ids)}
        for parent in batch.parents
        if torn.isdisjoint(parent.place.source_ids)
    ]
    if parents:
        tx.run("chunks/write_parents", rows=parents, **of_space)
    # The driver writes its own vector type nearly four times faster than a list
    vectors = {identity: Vector.from_numpy(vector) for identity, vector in batch.vectors.items()}
    marked = [{"source_id": identity, "vector": vectors.get(identity)} for identity in done]
    tx.run("sources/mark", rows=marked, property=space.vector_property, **mark.parameters())
    return len(done)


def reject_source(tx: Transaction, source: SourceText, space: Space, mark: Fingerprint, reason: str) -> None:
    """Mark a source that the model rejects, unless it has changed."""
    identity, text_hash = source.source_id, source.content_hash
    if reject(tx, space, mark, identity=identity, text_hash=text_hash, reason=reason):
        _delete_others(tx, [source.source_id], (), space, mark)


def require_fitting(tx: Transaction, space: Space, vectors: Iterable[NDArray[np.float32]]) -> None:
    require_writable(tx, space)
    for vector in vectors:
        check_vector(vector, space.dimensions)


def check_vector(vector: NDArray[np.float32], dimensions: int) -> None:
    """Raise EmbeddingFailed for vectors that a vector index would silently ignore."""
    if vector.shape != (dimensions,):
        raise EmbeddingFailed(
            f"a vector has the shape {vector.shape}, but the space has {dimensions} dimensions"
        )
    if not np.isfinite(vector).all():
        raise EmbeddingFailed("a vector holds NaN or infinite values")
    if not vector.any():
        raise EmbeddingFailed("a vector is zero and has no direction")


def _delete_others(
    tx: Transaction, source_ids: Sequence[str], keep: Collection[str], space: Space, mark: Fingerprint
) -> None:
    ids = {"source_ids": list(source_ids), "keep": sorted(keep)}
    tx.run("chunks/delete_others", **ids, space=space.key, mark_property=mark.key)


def _are_adjacent(place: ChunkPlace, held: dict[str, Row]) -> bool:
    """Check if all sources of a chunk exist and are still adjacent."""
    if not all(identity in held for identity in place.source_ids):
        return False
    paragraphs = [held[identity]["paragraph"] for identity in place.source_ids]
    return all(following == paragraph + 1 for paragraph, following in pairwise(paragraphs))


# Flags of pending sources, for finding them among many others
#
# A source has one flag for its vector and one for extraction. New sources and sources that lose a mark get a
# flag, and a new mark removes it. The ontology stores a note that all pending sources of one mark have a
# flag. Every configuration change removes the note. Reads of pending sources check the note themselves
# (`cypher/embedding`).

WHOLE_SECONDS = 3600.0  # interval of checks of all sources of an ontology, not only flagged ones
SETTLED_SECONDS = 150.0
"""Time until a second check of all sources, after which concurrent writes are complete."""
MAX_FLAGGED = 2000
"""Maximum number of sources to flag. If more have another mark, nearly all need embedding."""


class Flags:
    """Flags of pending sources, with the times of the last complete checks."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._look_at: dict[tuple[str, str], float] = {}

    def keep(self, ontology: str, mark: Fingerprint, is_current: Callable[[Transaction], bool]) -> None:
        """Check all sources if the ontology has no note that all are flagged, and at regular intervals."""
        place = (ontology, mark.key)
        noted = is_noted(self._graph, ontology, mark)
        if noted and time.monotonic() < self._look_at.get(place, float("-inf")):
            return
        if flag(self._graph, ontology, mark, is_current):
            pause = WHOLE_SECONDS if noted else SETTLED_SECONDS
            self._look_at[place] = time.monotonic() + pause


def is_noted(graph: Graph, ontology: str, mark: Fingerprint) -> bool:
    """Check if the ontology has a note that all sources without this mark are flagged."""
    wanted = {"ontology": ontology, "mark_property": mark.key, "mark": mark.value}
    rows = graph.read("ontologies/flagged", **wanted, note=_get_names(mark)[1])
    return bool(rows) and rows[0]["flagged"]


def flag(graph: Graph, ontology: str, mark: Fingerprint, is_current: Callable[[Transaction], bool]) -> bool:
    """Flag all sources without this mark, and add the note if none is left."""
    # Without the note, reads of pending sources check all sources.
    name, note = _get_names(mark)
    wanted = {"ontology": ontology, "mark_property": mark.key, "mark": mark.value}

    def noted(tx: Transaction) -> None:
        if is_current(tx):
            tx.run("ontologies/note_flagged", **wanted, note=note)

    graph.write("ontologies/note_flagged", **wanted | {"mark": None}, note=note)
    if graph.write("embedding/flag", **wanted, flag=name, limit=MAX_FLAGGED)[0]["flagged"] >= MAX_FLAGGED:
        return False
    graph.transaction(noted)
    return True


def _get_names(mark: Fingerprint) -> tuple[str, str]:
    """Return the flag property of a source and the note property of the ontology."""
    return ("unread", "unread_for") if mark.key == EXTRACTION_MARK else ("unembedded", "flagged_for")
