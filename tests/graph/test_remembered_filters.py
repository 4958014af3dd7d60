from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.documents import change_document
from kg_api.graph.filters import (
    KEPT_SECONDS,
    SETTLED_SECONDS,
    RememberedFilters,
    find_matching_documents,
    prune_writes,
    read_keys,
)
from kg_api.schemas.base import digest
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from kg_api.schemas.filters import DocumentFilter
from tests.support.cypher import STATEMENTS, rows
from tests.support.records import record

WHERE = DocumentFilter.model_validate({"where": ["tags=ops || version>2"]}).where
COUNTED = re.compile(r"CREATE \(:DocumentWrite\)")
WRITES_DOCUMENTS = re.compile(r"\b(SET d\b|DELETE d\b|DETACH DELETE d\b|SET d \+=)")
FILTERED_BY_NOTHING = {
    *("documents/hold", "documents/hold_about", "documents/hold_versions", "documents/lock"),
    *("folders/hold_document", "folders/take_documents", "folders/touch_documents"),
    *("blobs/lose", "bundle/hold", "bundle/keep_changes"),
}
"""Statements that change documents, but not the fields that you can filter by. `lock` is used to create
nodes that `describe` counts."""


def told(name: str, **metadata: Any) -> DocumentRecord:
    text = json.dumps(metadata)
    return replace(record(name, [name]), metadata=text, content_hash=digest(name, text))


def test_each_write_is_seen(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    remembered = RememberedFilters(graph, lambda: now[0])
    asked = list[object]()

    def counted(*given: Any) -> dict[str, list[str]]:
        asked.append(given)
        return find_matching_documents(*given)

    monkeypatch.setattr("kg_api.graph.filters.find_matching_documents", counted)

    def right() -> int:
        for _ in range(3):
            now[0] += SETTLED_SECONDS
            assert remembered.matching(WHERE, None) == find_matching_documents(graph, WHERE, None)
        return sum(map(len, remembered.matching(WHERE, None).values()))

    one, other = told("one", tags=["ops"]), told("other", version=1)
    store_document(graph, one)
    assert right() == 1
    before = len(asked)
    assert right() == 1
    assert len(asked) == before, "nothing was written, so nothing is to be chosen again"
    store_document(graph, other)
    assert right() == 1
    change_document(graph, other.document_id, DocumentChange(metadata={"version": 3}))
    assert right() == 2
    delete_document(graph, one.document_id)
    assert right() == 1
    before = len(asked)
    now[0] += KEPT_SECONDS
    assert right() == 1
    assert len(asked) == before + 1


def test_filter_result_read_after_write_is_not_cached(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [0.0], list[object]()
    remembered = RememberedFilters(graph, lambda: now[0])

    def slow(*given: Any) -> dict[str, list[str]]:
        asked.append(given)
        now[0] += 2 * SETTLED_SECONDS
        return find_matching_documents(*given)

    monkeypatch.setattr("kg_api.graph.filters.find_matching_documents", slow)
    store_document(graph, told("one", tags=["ops"]))
    for times in (1, 2, 2):
        remembered.matching(WHERE, None)
        assert len(asked) == times


def test_every_statement_writing_filtered_fields_is_counted() -> None:
    found = set[str]()
    for name, text in STATEMENTS.items():
        if "Document" in text and WRITES_DOCUMENTS.search(text) and not COUNTED.search(text):
            found.add(name)
    assert found == FILTERED_BY_NOTHING


def test_pruned_writes_stay_counted(graph: Graph, driver: neo4j.Driver) -> None:
    for at in range(3):
        store_document(graph, told(f"{at}"))
    before = graph.read("documents/writes")
    assert prune_writes(graph) == 3
    assert prune_writes(graph) == 0
    assert rows(driver, "MATCH (w:DocumentWrite) RETURN count(w) AS n") == [{"n": 0}]
    assert graph.read("documents/writes") == before
    store_document(graph, told("another"))
    assert graph.read("documents/writes")[0]["writes"] == before[0]["writes"] + 1


def test_field_names_are_read_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    now, looked = [0.0], list[object]()

    def counted(*given: Any) -> list[str]:
        looked.append(given)
        return read_keys(*given)

    monkeypatch.setattr("kg_api.graph.filters.read_keys", counted)
    remembered = RememberedFilters(graph, lambda: now[0])
    store_document(graph, told("one", tags=["ops"]))

    def effects() -> list[str]:
        now[0] += SETTLED_SECONDS
        return [each.effect for each in remembered.describe_unknown_fields(WHERE, None)]

    assert [effects() for _ in range(4)] == [["no document has the field 'version'"]] * 4
    assert len(looked) == 2, "once before what was written had settled"
    store_document(graph, told("other", version=1))
    assert effects() == []


@pytest.mark.parametrize(
    ("line", "fits"),
    [("reviewed<m", []), ("reviewed>a", ["note"]), ("reviewed<2025", ["dated"]), ("reviewed>=2025", [])],
)
def test_text_that_is_not_a_date_never_matches(graph: Graph, line: str, fits: list[str]) -> None:
    """`date<gestern` was true for any document with a date, so all of them would have been deleted."""
    for name, value in (("dated", "2024-05-01"), ("note", "soon")):
        store_document(graph, told(name, reviewed=value))
    where = DocumentFilter.model_validate({"where": [line]}).where
    found = find_matching_documents(graph, where, None)
    names = {record(name, [name]).document_id: name for name in ("dated", "note")}
    assert sorted(names[each] for ids in found.values() for each in ids) == fits
