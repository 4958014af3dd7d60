from __future__ import annotations

from typing import Any

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.library import change_by_name, find_document, list_documents
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from kg_api.schemas.filters import DocumentFilter
from tests.support.cypher import rows


def written(modified: str | None, text: str = "It says so.") -> DocumentRecord:
    return to_record(Incoming("notes", "a.txt", text, modified=modified))[0]


def names(graph: Graph, condition: str) -> list[str]:
    where = DocumentFilter.model_validate({"where": [condition]}).where
    found = list_documents(graph, ontology="notes", offset=0, limit=10, where=where)
    return [each.document for each in found.documents]


def metadata_of(graph: Graph) -> dict[str, Any]:
    return find_document(graph, "a.txt").metadata


def test_documents_are_filtered_by_file_time(graph: Graph) -> None:
    store_document(graph, written("2025-03-01T09:30:00Z"))
    assert names(graph, "modified>=2025-01-01") == names(graph, "modified=2025-03") == ["a.txt"]
    assert names(graph, "modified>=2025-04") == names(graph, "date>=2025") == []


def test_changed_file_time_updates_metadata_only(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, written(None))  # as an older kg stored it
    before = rows(driver, "MATCH (d:Document) RETURN d.updated_at AS at, d.written_by AS by")
    for time in ("2025-03-01T09:30:00Z", "2026-01-01T00:00:00Z"):
        told = store_document(graph, written(time))
        assert (told.change.change, told.job_id, told.unread) == ("unchanged", None, 0)
        assert (metadata_of(graph), names(graph, f"modified={time}")) == ({"modified": time}, ["a.txt"])
    assert rows(driver, "MATCH (d:Document) RETURN d.updated_at AS at, d.written_by AS by") == before
    assert store_document(graph, written(None)).change.change == "unchanged"
    assert metadata_of(graph) == {"modified": "2026-01-01T00:00:00Z"}


def test_deleted_file_time_stays_deleted(graph: Graph) -> None:
    store_document(graph, written("2025-03-01T09:30:00Z"))
    change_by_name(graph, "a.txt", DocumentChange(metadata={"modified": None}))
    store_document(graph, written("2026-01-01T00:00:00Z"))
    assert metadata_of(graph) == {}
