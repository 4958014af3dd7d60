"""What is written of a bundle beside what documents, vectors and concepts are written by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kg_api.errors import InvalidInput
from kg_api.graph.concepts.rows import IMPORTED
from kg_api.graph.database import Transaction
from kg_api.graph.spaces.chunks import EmbeddedBatch
from kg_api.graph.spaces.due import SourceText, source_text
from kg_api.graph.spaces.marks import Mark
from kg_api.graph.spaces.registry import Space


@dataclass(frozen=True, slots=True)
class StoredSources:
    """Sources of a document as they are stored."""

    by_paragraph: dict[int, SourceText]
    not_embedded: frozenset[str]
    """Ids of those that are not embedded as they shall be."""
    extracted_with: dict[str, str]
    """By id, the extractor that has read it."""
    brought: frozenset[str]
    """Ids of those of which somebody has brought concepts."""

    @property
    def lengths(self) -> dict[int, int]:
        """Of their texts, in code points, by paragraph."""
        return {at: len(source.full_text) for at, source in self.by_paragraph.items()}


def hold_documents(tx: Transaction, document_ids: Collection[str]) -> dict[str, str | None]:
    """Hold those of some documents that are there; by id, the hash of all that each was made of."""
    rows = tx.run("bundle/hold", document_ids=sorted(document_ids))
    return {row["document_id"]: row["content_hash"] for row in rows}


def waiting_among(tx: Transaction, document_ids: Collection[str]) -> set[str]:
    """Those of some documents of which a text waits for approval."""
    return {row["document_id"] for row in tx.run("bundle/waiting", document_ids=sorted(document_ids))}


def keep_changes(tx: Transaction, changes: Mapping[str, str]) -> None:
    """Keep, by document, what somebody changed of it."""
    if changes:
        rows = [{"document_id": identity, "changes": said} for identity, said in sorted(changes.items())]
        tx.run("bundle/keep_changes", rows=rows)


def stored_sources(
    tx: Transaction, document_ids: Collection[str], mark: Mark, places: range
) -> dict[str, StoredSources]:
    """By document, its sources at some paragraphs, and how each is embedded and read."""
    rows = tx.run(
        "bundle/sources_of",
        document_ids=sorted(document_ids),
        first=places.start,
        until=places.stop,
        mark_property=mark.key,
        mark=mark.value,
        imported=IMPORTED,
    )
    brought = frozenset(row["source_id"] for row in rows if row["brought"])
    found = {each: StoredSources({}, frozenset(), {}, brought) for each in document_ids}
    missing: dict[str, set[str]] = {each: set() for each in document_ids}
    for row in rows:
        source = source_text(row)
        found[row["document_id"]].by_paragraph[source.paragraph] = source
        found[row["document_id"]].extracted_with[source.source_id] = row["extracted_with"] or ""
        if not row["embedded"]:
            missing[row["document_id"]].add(source.source_id)
    return {
        each: StoredSources(known.by_paragraph, frozenset(missing[each]), known.extracted_with, brought)
        for each, known in found.items()
    }


def require_own_chunks(tx: Transaction, batch: EmbeddedBatch, space: Space) -> None:
    """Refuse chunks that would take the place of another document's.

    Raises:
        InvalidInput: there is one.
    """
    places = [each.place for each in (*batch.chunks, *batch.parents)]
    rows = [{"chunk_id": each.chunk_id, "document_id": each.document_id} for each in places]
    if rows and tx.run("bundle/foreign_chunks", rows=rows, space=space.key):
        raise InvalidInput("a chunk has the id of another document's chunk: this bundle was not made by kg")
