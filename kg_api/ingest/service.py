"""Ingestion: request -> parse -> split -> one transaction (sources and jobs) -> answer. Workers go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import AskForExtraction, StoreResult, preview_document, store_document
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.library.documents import (
    DocumentRecord,
    Ingested,
    SourceChanges,
    SourceRecord,
    StoredChange,
)
from kg_api.parse.decode import decode


@dataclass(frozen=True, slots=True)
class Preview:
    """What ingesting a document would do."""

    record: DocumentRecord
    change: StoredChange
    new: list[SourceRecord]
    notes: list[str]


class IngestService:
    """Takes documents in."""

    def __init__(self, graph: Graph, extract: AskForExtraction) -> None:
        self._graph = graph
        self._extract = extract

    def ingest_text(self, incoming: Incoming, notes: Sequence[str] = ()) -> Ingested:
        """Store a document that is text already.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
            DatabaseUnavailable: Neo4j does not answer; nothing was stored.
        """
        record, more = to_record(incoming)
        return _present(record, store_document(self._graph, record, self._extract), [*notes, *more])

    def preview_text(self, incoming: Incoming, notes: Sequence[str] = ()) -> Preview:
        """Say what `ingest_text` would do; nothing is stored.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
        """
        record, more = to_record(incoming)
        change, new = preview_document(self._graph, record)
        return Preview(record, change, new, [*notes, *more])

    def preview_bytes(self, content: bytes, incoming: Incoming) -> Preview:
        """Say what `ingest_bytes` would do; nothing is stored."""
        text, notes = decode(content)
        return self.preview_text(replace(incoming, text=text), notes)

    def ingest_bytes(self, content: bytes, incoming: Incoming) -> Ingested:
        """Store a file's content; `incoming.text` is replaced by it.

        Raises:
            UnreadableDocument: it is not text in any known encoding.
        """
        text, notes = decode(content)
        return self.ingest_text(replace(incoming, text=text), notes)


def _present(record: DocumentRecord, stored: StoreResult, notes: Sequence[str]) -> Ingested:
    change = stored.change
    replaced = f"it took the place of {change.replaced_uri}" if change.replaced_uri else None
    return Ingested(
        document_id=record.document_id,
        ontology=record.ontology,
        document=record.document,
        title=record.title,
        change=change.change,
        sources=SourceChanges(added=change.added, kept=change.kept, removed=change.removed),
        job_id=stored.job_id,
        notes=[*notes, *([replaced] if replaced else [])],
    )
