"""Hits whose source is deleted while Neo4j reads them: Neo4j returns null for its properties."""

from typing import Any

import numpy as np
import pytest
from neo4j.time import DateTime

from kg_api.errors import Unavailable
from kg_api.graph.client import Graph, Row
from kg_api.graph.library import find_document
from kg_api.graph.proposals import read_proposals_page
from kg_api.graph.search import (
    ChunkText,
    Filters,
    KeywordPassages,
    NearestPassages,
    SpaceVectors,
    find_sources_by_concepts,
    read_chunk_texts,
    read_concepts_of_sources,
)
from kg_api.graph.spaces import EmbeddedLabel, Fingerprint, Space
from kg_api.graph.targets import list_pending
from kg_api.graph.vectors import PendingQuery, list_document_sources, list_pending_sources
from kg_api.schemas.search import CarriedConcept
from tests.support.embedders import small_embedder

STORED = ["s1", "notes", "d1"]
NOT_STORED = [None, None, None]
NO_VECTORS = SpaceVectors({}, {}, {})
VECTOR = np.ones(8, dtype=np.float32)
CARRIED: Row = {"concept_id": "c1", "label": "lease", "verified": True}
NOT_CARRIED: Row = {"concept_id": None, "label": None, "verified": True}


class RowsGraph(Graph):
    """Graph that returns the same rows for every statement with a name."""

    def __init__(self, **rows: list[Row]) -> None:
        self.rows = rows

    def search(self, name: str, space: str = "default", /, **parameters: Any) -> list[Row]:  # noqa: ARG002
        return self.rows[name.removeprefix("search/")]

    read = search


class ChangingGraph(Graph):
    """Graph that returns one of several rows at each read, and the last one again."""

    def __init__(self, *rows: Row) -> None:
        self.left = list(rows)

    def read(self, name: str, space: str = "default", /, **parameters: Any) -> list[Row]:  # noqa: ARG002
        return [self.left.pop(0) if len(self.left) > 1 else self.left[0]]


def test_keyword_hits_omit_deleted_sources() -> None:
    found = {
        "looked": 3,
        "passages": [
            [*NOT_STORED, 1.5, None, False],
            [*STORED, 1.5, 0.5, True],
            ["s2", None, None, 1.5, None, True],
        ],
        "chunks": [["s1", 0.7, None, None, None, None, None]],
    }
    hits = KeywordPassages("lease", NO_VECTORS, limit=3).hits(RowsGraph(), found)
    assert [(hit.source, hit.similarity, hit.chunk) for hit in hits.found] == [(tuple(STORED), 0.5, None)]
    assert hits.cut, "the index may have more"


def test_vector_hits_omit_deleted_sources_and_chunks() -> None:
    found = {
        "passages": [
            [*NOT_STORED, 0.9],
            [*STORED, 0.9],
            [None, "notes", "d1", 0.9, "k1", 0, 9, ["s2"]],
            [None, "notes", "d1", 0.9, "k2", None, None, None],
        ],
        "parents": [],
    }
    space = Space("default", small_embedder().identity)
    hits = NearestPassages(VECTOR, space, Filters(), limit=4).hits(RowsGraph(), found)
    assert [hit.source.source_id for hit in hits.found] == ["s1", "s2"]
    assert hits.cut, "the index may have more"


def test_concept_hits_omit_deleted_sources_and_concepts() -> None:
    row: Row = {"chunk_id": None, "similarity": None, "asked": False, "score": 1.0}
    through = [CARRIED, NOT_CARRIED]
    stored: Row = {"source_id": "s1", "ontology": "notes", "document_id": "d1", **row, "through": through}
    deleted: Row = {**stored, "source_id": None, "ontology": None, "document_id": None}
    reached: Row = {"unlinked": [], "concepts": []}
    graph = RowsGraph(concepts_reached=[reached], by_concepts=[{"found": [deleted, stored]}])
    hits = find_sources_by_concepts(graph, [], [], Filters(), NO_VECTORS, limit=3)
    assert [(hit.source.source_id, hit.through) for hit in hits] == [("s1", (CarriedConcept(**CARRIED),))]


def test_concepts_of_sources_omit_deleted_concepts() -> None:
    graph = RowsGraph(concepts_of_sources=[{"source_id": "s1", "concepts": [NOT_CARRIED, CARRIED]}])
    assert read_concepts_of_sources(graph, ["s1"]) == {"s1": [CarriedConcept(**CARRIED)]}


def test_chunk_texts_omit_deleted_chunks_and_sources() -> None:
    first: Row = {"source_id": "s1", "start": 5, "full_text": "A lease. "}
    second: Row = {"source_id": "s2", "start": 14, "full_text": "A fence."}
    deleted: Row = {"source_id": None, "start": None, "full_text": None}
    stored: Row = {"chunk_id": "k1", "sources": 2, "offset": 2, "end_offset": 7, "parts": [first, second]}
    rows = [
        stored,
        {**stored, "chunk_id": "k2", "offset": None, "end_offset": None},
        {**stored, "chunk_id": "k3", "sources": None},
        {**stored, "chunk_id": "k4", "parts": [second, deleted]},
        {**stored, "chunk_id": "k5", "parts": [{**first, "start": None}, second]},
        {**stored, "chunk_id": "k6", "parts": [second]},
    ]
    graph = RowsGraph(**{"chunks/texts": rows})
    texts = read_chunk_texts(graph, ["k1", "k2", "k3", "k4", "k5", "k6"])
    assert texts == {"k1": ChunkText("lease. A fence", 7, 21, ("s1", "s2"))}


WHOLE: Row = {
    "document_id": "0" * 32,
    "ontology": "notes",
    "document": "a.md",
    "title": "A",
    "uri": None,
    "format": "markdown",
    "characters": 17,
    "sources": 2,
    "updated_at": DateTime(2026, 11, 30),
    "metadata": "{}",
    "preface": "# A\n",
    "parts": ["A lease.\n", "Next"],
}


@pytest.mark.parametrize("parts", [["A lease.\n", None], ["A lease.\n"], ["A lease.\n", "Next", "Next"]])
def test_document_changed_during_read_is_read_again(parts: list[str | None]) -> None:
    changed = {**WHOLE, "parts": parts}
    assert find_document(ChangingGraph(changed, WHOLE), "0" * 32).text == "# A\nA lease.\nNext"
    with pytest.raises(Unavailable, match="faster than it can be read"):
        find_document(ChangingGraph(changed), "0" * 32)


SOURCE: Row = {
    "source_id": "s1",
    "document_id": "d1",
    "paragraph": 0,
    "heading": [],
    "start": 0,
    "full_text": "A lease.",
    "content_hash": "h",
    "block_kinds": None,
    "block_starts": None,
}


def test_sources_of_document_omit_deleted_ones() -> None:
    graph = RowsGraph(**{"sources/of_document": [SOURCE, dict.fromkeys(SOURCE)]})
    assert [each.source_id for each in list_document_sources(graph, "d1")] == ["s1"]


def find_pending(label: EmbeddedLabel) -> PendingQuery:
    return PendingQuery(
        "notes", Fingerprint(label, "embedded_with", "m", "embedded_at", "r"), "embedded_with"
    )


def test_pending_sources_omit_deleted_ones() -> None:
    graph = RowsGraph(**{"embedding/due": [SOURCE, dict.fromkeys(SOURCE)]})
    found = list_pending_sources(graph, find_pending("Source"), after=("", -1), limit=2)
    assert [each.source_id for each in found] == ["s1"]


def test_pending_concepts_omit_deleted_ones() -> None:
    stored: Row = {"concept_id": "c1", "label": "lease", "description": "", "search_terms": []}
    stored |= {"text_hash": "h"}
    graph = RowsGraph(**{"embedding/due": [stored, dict.fromkeys(stored)]})
    found = list_pending(graph, find_pending("Concept"), after="", limit=2)
    assert [each.identity for each in found] == ["c1"]


@pytest.mark.parametrize("deleted", ["end", "proposal"])
def test_proposals_omit_those_with_deleted_nodes(deleted: str) -> None:
    place: Row = {"source_id": "s1", "ontology": "notes", "document": "a.md", "document_id": "d1"}
    place |= {"paragraph": 0, "heading": [], "start": 0, "end": 8, "full_text": "A lease.", "ocr": False}
    end: Row = {**place, "concept_id": None, "label": None, "quote_start": None, "quote_end": None}
    proposal: Row = {"proposal_id": "p1", "ontology": "notes", "kind": "source", "state": "open"}
    proposal |= {"score": 1.0, "similarity": 0.9, "reason": "", "created_at": DateTime(2026, 12, 1)}
    torn = {
        "end": {"ends": [end, {**end, "full_text": None}]},
        "proposal": {"proposal": {**proposal, "state": None}},
    }
    stored: Row = {"proposal": proposal, "ends": [end, end]}
    rows = {"proposals/page": [stored, {**stored, **torn[deleted]}], "proposals/count": list[Row]()}
    found, _ = read_proposals_page(RowsGraph(**rows), ontology=None, kind=None, state=None, offset=0, limit=2)
    assert [each.proposal_id for each in found] == ["p1"]
