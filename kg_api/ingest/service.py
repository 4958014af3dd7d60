"""Ingestion: request -> parse -> split -> one transaction (sources and jobs) -> answer. Workers go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kg_api.errors import KgError
from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import AskForExtraction, preview_document, store_document
from kg_api.graph.idempotency import once
from kg_api.graph.naming.reach import require
from kg_api.ingest.batch import ingest_each
from kg_api.ingest.present import present
from kg_api.ingest.reading import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.identity import digest
from kg_api.models.library.batches import GivenBatch, IngestedBatch
from kg_api.models.library.documents import DocumentRecord, Ingested, SourceRecord, StoredChange
from kg_api.models.problems import PASSING


@dataclass(frozen=True, slots=True)
class Preview:
    """What ingesting a document would do."""

    record: DocumentRecord
    change: StoredChange
    new: list[SourceRecord]
    notes: list[str]


class _NotAll(Exception):
    """Some documents are to be sent again: the answer is not kept."""


class IngestService:
    """Takes documents in."""

    def __init__(self, graph: Graph, reader: DocumentReader, extract: AskForExtraction) -> None:
        self._graph = graph
        self._reader = reader
        self._extract = extract

    def ingest_text(self, incoming: Incoming, notes: Sequence[str] = ()) -> Ingested:
        """Store a document that is text already.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
            DatabaseUnavailable: Neo4j does not answer; nothing was stored.
        """
        require(incoming.ontology)
        return self._store(*self._reader.from_text(incoming), notes)

    def ingest_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> Ingested:
        """Store a file's content; `incoming.text` is replaced by it.

        Args:
            content: the file's.
            incoming: what is known of it.
            beside: pictures that it names, by their references.

        Raises:
            UnreadableDocument: it is not text in any known encoding, nor of another kind that is read.
        """
        require(incoming.ontology)
        return self._store(*self._reader.from_bytes(content, incoming, beside))

    def ingest_batch(self, batch: GivenBatch, key: str | None = None) -> IngestedBatch:
        """Store documents, each with its own outcome; the first of one name.

        Args:
            batch: as it was sent.
            key: the same answer is given to the same key, unless some could not be stored at that moment.

        Raises:
            Unavailable: nothing can be stored now, and nothing was.
            Conflict: the key was used for something else.
        """
        if key is None:
            return self._ingest_each(batch)
        done: list[IngestedBatch] = []

        def ingest() -> dict[str, Any]:
            if not done:  # the transaction that holds the key may run twice
                done.append(self._ingest_each(batch))
            if any(each.problem and each.problem.status in PASSING for each in done[0].outcomes):
                raise _NotAll
            return done[0].model_dump(mode="json")

        sent = digest("batch", json.dumps(batch.documents, sort_keys=True))
        try:
            answer, _ = self._graph.transaction(lambda tx: once(tx, key, sent, ingest))
        except _NotAll:
            return done[0]
        except KgError:  # it took longer than a transaction may: all the same it is done
            if done:
                return done[0]
            raise
        return IngestedBatch.model_validate(answer)

    def _ingest_each(self, batch: GivenBatch) -> IngestedBatch:
        return IngestedBatch(outcomes=ingest_each(self._graph, batch.documents, self._reader, self._extract))

    def preview_text(self, incoming: Incoming) -> Preview:
        """Say what `ingest_text` would do; nothing is stored.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
        """
        require(incoming.ontology)
        return self._preview(*self._reader.looking().from_text(incoming))

    def preview_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> Preview:
        """Say what `ingest_bytes` would do; nothing is stored."""
        require(incoming.ontology)
        return self._preview(*self._reader.looking().from_bytes(content, incoming, beside))

    def _store(self, incoming: Incoming, read: Sequence[str], notes: Sequence[str] = ()) -> Ingested:
        record, more = to_record(incoming)
        stored = store_document(self._graph, record, self._extract)
        return present(record, stored, [*notes, *read, *more])

    def _preview(self, incoming: Incoming, read: Sequence[str]) -> Preview:
        record, more = to_record(incoming)
        change, new = preview_document(self._graph, record)
        return Preview(record, change, new, [*read, *more])
