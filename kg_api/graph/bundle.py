"""Reading the parts of a bundle, and the writes that only bundles need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kg_api.errors import InvalidInput, Unavailable
from kg_api.graph.client import Graph, Row, Transaction, split_into_portions
from kg_api.graph.concept_writes import present_evidence
from kg_api.graph.concepts import EvidenceRows
from kg_api.graph.spaces import Fingerprint, Space
from kg_api.graph.vectors import EmbeddedBatch, SourceText, build_source_text, read_document_versions
from kg_api.schemas.bundles import MAX_PART

LOOKS = 5  # attempts to read concepts that were merged during the read
# Sources per statement. Small because the driver returns a vector as a large list of numbers
CHUNKED_SOURCES = 20


@dataclass(frozen=True, slots=True)
class StoredPart:
    sources: Sequence[Row]
    chunks: Sequence[Row]
    evidence: EvidenceRows
    labels: dict[str, str]


def has_changed(graph: Graph, documents: Sequence[Row]) -> bool:
    now = read_document_versions(graph, [row["document_id"] for row in documents])
    return any(now.get(row["document_id"], "") != row["version"] for row in documents)


def read_part(
    graph: Graph, documents: Sequence[Row], space: Space, mark: Fingerprint, places: range
) -> StoredPart:
    sources = graph.read(
        "bundle/sources",
        document_ids=[row["document_id"] for row in documents],
        first=places.start,
        until=places.stop,
        mark_property=mark.key,
        mark=mark.value,
        property=space.vector_property,
    )
    chunked = [row["source_id"] for row in sources if row["embedded"] and row["vector"] is None]
    chunks: dict[str, Row] = {}
    for ids in split_into_portions(chunked, CHUNKED_SOURCES):
        parameters = {"source_ids": ids, "space": space.key, "property": space.vector_property}
        for row in graph.read("bundle/chunks", **parameters):
            # Vector and children belong to the same state
            is_whole = (row["vector"] is None) == bool(row["children"])
            if is_whole and 0 < len(row["paragraphs"]) <= MAX_PART:
                chunks[row["chunk_id"]] = {**row, "vector": _to_array(row["vector"])}
    # A source may be embedded between the two statements. Without its chunks, it is not embedded
    covered = {(row["document_id"], each) for row in chunks.values() for each in row["paragraphs"]}
    for row in sources:
        row["vector"] = _to_array(row["vector"])
        place = row["document_id"], row["paragraph"]
        row["embedded"] = bool(row["embedded"]) and (row["vector"] is not None or place in covered)
    source_ids = [row["source_id"] for row in sources]
    for _ in range(LOOKS):
        evidence = _read_evidence(graph, source_ids)
        ends = {each for row in evidence.relations for each in (row.subject, row.object)}
        ids = {row.concept_id for row in (*evidence.appearances, *evidence.quotes)} | ends
        rows = graph.read("bundle/labels", concept_ids=sorted(ids)) if ids else []
        labels = {row["concept_id"]: row["label"] for row in rows}
        if labels.keys() >= ids and _read_evidence(graph, source_ids) == evidence:
            return StoredPart(sources, [chunks[each] for each in sorted(chunks)], evidence, labels)
    raise Unavailable("concepts are being merged faster than they can be read: try again")


def _to_array(vector: list[float] | None) -> np.ndarray[tuple[int], np.dtype[np.float32]] | None:
    """Return an array, which needs a tenth of the bytes of a list."""
    return None if vector is None else np.asarray(vector, dtype=np.float32)


def _read_evidence(graph: Graph, source_ids: Sequence[str]) -> EvidenceRows:
    """Return the evidence of sources. A merge may move a part of it between two statements."""
    found = graph.transaction(lambda tx: present_evidence(tx, source_ids, source_ids))
    return EvidenceRows(
        sorted(found.appearances, key=lambda row: row.key),
        sorted(found.quotes, key=lambda row: row.key),
        sorted(found.relations, key=lambda row: row.key),
    )


@dataclass(frozen=True, slots=True)
class StoredSource:
    text: SourceText
    is_embedded: bool
    extracted_with: str


def hold_documents(tx: Transaction, document_ids: Collection[str]) -> dict[str, str | None]:
    """Lock the documents that exist. Return their content hashes by id."""
    rows = tx.run("bundle/hold", document_ids=sorted(document_ids))
    return {row["document_id"]: row["content_hash"] for row in rows}


def keep_changes(tx: Transaction, changes: Mapping[str, str]) -> None:
    if changes:
        rows = [
            {"document_id": identity, "changes": document_changes}
            for identity, document_changes in sorted(changes.items())
        ]
        tx.run("bundle/keep_changes", rows=rows)


def read_stored_sources(
    tx: Transaction, document_id: str, mark: Fingerprint, places: range
) -> dict[int, StoredSource]:
    rows = tx.run(
        "bundle/sources_of",
        document_id=document_id,
        first=places.start,
        until=places.stop,
        mark_property=mark.key,
        mark=mark.value,
    )
    return {
        row["paragraph"]: StoredSource(build_source_text(row), row["embedded"], row["extracted_with"] or "")
        for row in rows
    }


def require_own_chunks(tx: Transaction, batch: EmbeddedBatch, space: Space) -> None:
    """Raise InvalidInput for chunks that would replace chunks of another document."""
    places = [each.place for each in (*batch.chunks, *batch.parents)]
    rows = [{"chunk_id": each.chunk_id, "document_id": each.document_id} for each in places]
    if rows and tx.run("bundle/foreign_chunks", rows=rows, space=space.key):
        raise InvalidInput("a chunk has the id of another document's chunk: this bundle was not made by kg")
