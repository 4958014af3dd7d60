"""Changing what is said of a document, without its text."""

from __future__ import annotations

import json
from dataclasses import replace

import neo4j
import pytest

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.library import change_called, find_document
from kg_api.schemas.base import digest
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from tests.support.cypher import rows
from tests.support.embedding import configure_in_place
from tests.support.kg import Kg
from tests.support.records import record

GIVEN = {"author": "Ada", "draft": True}


def told(*paragraphs: str) -> DocumentRecord:
    new = replace(record("a.md", paragraphs), metadata=json.dumps(GIVEN, sort_keys=True))
    return replace(new, content_hash=digest(*paragraphs))


def test_keys_are_merged_and_stay_when_the_text_comes_again(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, told("one"))
    change = DocumentChange(title="Pumps", metadata={"tags": ["ops"], "draft": None})
    changed = change_called(graph, "a.md", change)
    wanted = {"author": "Ada", "tags": ["ops"]}
    assert (changed.title, changed.metadata, changed.job_id) == ("Pumps", wanted, None)
    store_document(graph, told("one", "two"))
    again = find_document(graph, "a.md")
    assert (again.title, again.metadata, again.uri) == ("Pumps", wanted, None)
    found = rows(driver, "MATCH (d:Document) RETURN d['meta.draft'] AS draft, d['meta.tags'] AS tags")
    assert found == [{"draft": None, "tags": ["ops"]}]
    titles = rows(driver, "MATCH (s:Source) RETURN DISTINCT s.title AS title")
    assert titles == [{"title": "Pumps"}]


def test_what_cannot_be_changed(graph: Graph) -> None:
    store_document(graph, told("one"))
    with pytest.raises(NotFound):
        change_called(graph, "b.md", DocumentChange(title="x"))
    with pytest.raises(InvalidInput, match="metadata"):
        change_called(graph, "a.md", DocumentChange(metadata={f"k{n}": n for n in range(63)}))
    assert find_document(graph, "a.md").metadata == GIVEN


@pytest.mark.parametrize("context", ["none", "template"])
def test_it_is_embedded_anew_only_where_contexts_use_it(kg: Kg, context: str) -> None:
    configure_in_place(kg.graph, "notes", context=context)
    kg.work()
    assert change_called(kg.graph, "a.md", DocumentChange(metadata={"shelf": 3})).job_id is None
    assert (change_called(kg.graph, "a.md", DocumentChange(title="Pumps")).job_id is not None) == (
        context == "template"
    )
    kg.work()
    date = DocumentChange(metadata={"date": "2025-01-31"})
    assert (change_called(kg.graph, "a.md", date).job_id is not None) == (context == "template")
    assert change_called(kg.graph, "a.md", date).job_id is None


def test_only_what_a_template_names_makes_stale(kg: Kg) -> None:
    configure_in_place(kg.graph, "notes", context="template", context_template="{heading}[ ({author})]")
    kg.work()
    for other in (DocumentChange(title="Pumps"), DocumentChange(metadata={"date": "2025-01-31"})):
        assert change_called(kg.graph, "a.md", other).job_id is None
    assert change_called(kg.graph, "a.md", DocumentChange(metadata={"author": "Bea"})).job_id is not None
