"""Lists without what is deleted while they are read: of it a row has nulls."""

from __future__ import annotations

from typing import Any, cast

import pytest
from neo4j.time import DateTime

from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import near_concepts
from kg_api.graph.concepts import concepts_of
from kg_api.graph.library import paragraphs, summaries
from kg_api.graph.similar import places_of
from tests.unit.search.found import SPACE

ROW: dict[str, Any] = {
    "document_id": "d",
    "ontology": "notes",
    "document": "a.md",
    "title": "a",
    "uri": None,
    "format": "markdown",
    "characters": 3,
    "sources": 1,
    "metadata": "{}",
    "updated_at": DateTime(2026, 1, 1),
}


class Rows:
    """Gives what a read would have given."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self._rows = rows

    def read(self, *_statement: str, **_given: Any) -> list[dict[str, Any]]:
        return list(self._rows)

    search = read


def test_a_row_of_a_document_that_is_being_deleted_is_left_out() -> None:
    half = [{**ROW, "document_id": "gone", name: None} for name in ROW if name != "uri"]
    found = summaries(cast("Graph", Rows(*half, ROW)), ["gone", "d"])
    assert [each.document_id for each in found] == ["d"]


PAIR: dict[str, Any] = {
    "concept_id": "a",
    "label": "lease",
    "terms": ["leases"],
    "text_hash": "1",
    "near_id": "b",
    "near_label": "term",
    "near_terms": [],
    "near_text_hash": "2",
    "similarity": 0.9,
}


def test_a_concept_that_is_being_deleted_is_near_to_nothing() -> None:
    half = [{**PAIR, "near_id": "gone", name: None} for name in PAIR if name not in {"concept_id", "near_id"}]
    found = near_concepts(cast("Graph", Rows(*half, PAIR)), SPACE, "notes", ["a"], limit=5, least=0.8)
    assert [each.ids for each in found] == [("a", "b")]


PLACE: dict[str, Any] = {
    "source_id": "s",
    "ontology": "notes",
    "document": "a.md",
    "document_id": "d",
    "paragraph": 0,
    "heading": [],
    "start": 0,
    "end": 3,
    "kind": "passage",
    "full_text": "abc",
    "metadata": "{}",
    "title": "a",
}
CONCEPT: dict[str, Any] = {
    "concept_id": "a",
    "ontology": "notes",
    "label": "lease",
    "description": "",
    "search_terms": [],
    "sources": 1,
}


@pytest.mark.parametrize("lost", [name for name in PLACE if name not in {"metadata", "title"}])
def test_a_source_that_is_being_deleted_has_no_place(lost: str) -> None:
    found = cast("Graph", Rows({"found": [{**PLACE, lost: None}, PLACE]}))
    assert [each.source_id for each in places_of(found, ["gone", "s"])] == ["s"]
    rows = cast("Graph", Rows({**PLACE, lost: None}, PLACE))
    assert [each.source_id for each in paragraphs(rows, "d", 0, 9)] == ["s"]


@pytest.mark.parametrize("lost", CONCEPT)
def test_a_concept_that_is_being_deleted_is_missing(lost: str) -> None:
    rows = cast("Graph", Rows({**CONCEPT, lost: None}))
    assert concepts_of(rows, ["gone"]) == {}
    assert list(concepts_of(cast("Graph", Rows(CONCEPT)), ["a"])) == ["a"]
