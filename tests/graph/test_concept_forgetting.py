"""Evidence of large documents goes in parts, and whatever happens between them does no harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import neo4j
import pytest

from kg_api.errors import DatabaseUnavailable
from kg_api.graph import concept_writes
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import count_for_extraction
from kg_api.graph.document_writes import delete_document, delete_ontology, forget_evidence_of, store_document
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import check_invariants, concepts, count, extraction, found, labelled, write
from tests.support.cypher import rows
from tests.support.records import record


class Counting:
    """A graph that counts its transactions, and may fail before one of them."""

    def __init__(self, graph: Graph, fail_at: int = -1) -> None:
        self._graph = graph
        self._fail_at = fail_at
        self.transactions = 0

    def read(self, *names: Any, **parameters: Any) -> Any:
        return self._graph.read(*names, **parameters)

    def write(self, *names: Any, **parameters: Any) -> Any:
        return self._graph.write(*names, **parameters)

    def transaction(self, work: Callable[[Transaction], Any]) -> Any:
        self.transactions += 1
        if self.transactions == self._fail_at:
            raise DatabaseUnavailable("it has just gone")
        return self._graph.transaction(work)


def counting(graph: Graph, fail_at: int = -1) -> Any:
    """It stands in for a graph: only what deleting and storing need is there."""
    return Counting(graph, fail_at)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_writes, "SOURCES_A_TRANSACTION", 2)


@pytest.fixture
def five(graph: Graph) -> DocumentRecord:
    made = record("five.md", [f"Common thing{n}." for n in range(5)])
    other = record("other.md", ["Common too."])
    store_document(graph, made)
    store_document(graph, other)
    write(graph, *(labelled(made, n, "Common", f"thing{n}") for n in range(5)), labelled(other, 0, "Common"))
    return made


@pytest.mark.usefixtures("small")
def test_evidence_goes_before_in_parts(graph: Graph, driver: neo4j.Driver, five: DocumentRecord) -> None:
    seen = counting(graph)
    assert delete_document(seen, five.document_id).sources == 5
    assert seen.transactions == 4, "three of two sources at most, and the last one"
    check_invariants(driver)
    assert concepts(driver) == {"Common": 1}
    assert delete_document(seen, five.document_id).sources == 0


@pytest.mark.usefixtures("small")
def test_what_stays_after_a_fault_is_due_again(
    graph: Graph, driver: neo4j.Driver, five: DocumentRecord
) -> None:
    assert count_for_extraction(graph, "notes", "m1") == 0
    with pytest.raises(DatabaseUnavailable):
        delete_document(counting(graph, fail_at=3), five.document_id)
    check_invariants(driver)
    assert count_for_extraction(graph, "notes", "m1") == 4
    assert concepts(driver)["Common"] == 2
    assert delete_ontology(graph, "notes").sources == 6
    assert count(driver, "(n) WHERE n:Concept OR n:ConceptName OR n:Instance OR n:Source") == 0


@pytest.mark.usefixtures("small", "five")
def test_a_document_that_loses_many_sources_forgets_them_in_parts(graph: Graph, driver: neo4j.Driver) -> None:
    few, many = counting(graph), counting(graph)
    store_document(few, record("five.md", [f"Common thing{n}." for n in range(4)]))
    assert few.transactions == 1, "few go with the rest"
    store_document(many, record("five.md", ["Common thing0.", "New."]))
    assert many.transactions == 3
    check_invariants(driver)
    assert concepts(driver) == {"Common": 2, "thing0": 1}
    assert count_for_extraction(graph, "notes", "m1") == 1, "what stays was read"


@pytest.mark.usefixtures("small")
def test_what_comes_in_meanwhile_goes_too(graph: Graph, driver: neo4j.Driver, five: DocumentRecord) -> None:
    class Reading(Counting):
        def transaction(self, work: Callable[[Transaction], Any]) -> Any:
            if self.transactions == 3:
                write(graph, *(labelled(five, n, "Common", f"thing{n}") for n in range(5)))
            return super().transaction(work)

    seen: Any = Reading(graph)
    delete_document(seen, five.document_id)
    check_invariants(driver)
    assert concepts(driver) == {"Common": 1}


@pytest.mark.usefixtures("small")
def test_of_documents_that_stay_after_all_nothing_is_forgotten(
    graph: Graph, driver: neo4j.Driver, five: DocumentRecord
) -> None:
    other = record("other.md", ["Common too."])
    asked = list[str]()

    def goes(_: Transaction, document_id: str) -> bool:
        asked.append(document_id)
        return document_id == other.document_id

    forget_evidence_of(graph, [five.document_id, other.document_id], goes)
    assert asked == [five.document_id] * 3 + [other.document_id]
    assert concepts(driver) == {"Common": 5, **{f"thing{n}": 1 for n in range(5)}}


@pytest.mark.parametrize("many", [750, pytest.param(1500, marks=pytest.mark.full)])
def test_a_large_document_goes(graph: Graph, driver: neo4j.Driver, many: int) -> None:
    made = record("large.md", [f"common thing{n} other{n} again{n}" for n in range(many)])
    other = record("other.md", ["common"])
    store_document(graph, made)
    store_document(graph, other)
    for start in range(0, many, 250):
        names = {n: (f"thing{n}", f"other{n}", f"again{n}") for n in range(start, start + 250)}
        write(graph, *(labelled(made, n, "common", *each) for n, each in names.items()))
    write(graph, labelled(other, 0, "common"))
    seen = counting(graph)
    assert delete_document(seen, made.document_id).sources == many
    assert seen.transactions == many // concept_writes.SOURCES_A_TRANSACTION + 1
    check_invariants(driver)
    assert concepts(driver) == {"common": 1}
    assert count(driver, "(n) WHERE n:ConceptName OR n:Instance") == 2


def test_a_document_goes_though_too_many_jobs_wait(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = (record(name, [f"Bees of {name}."]) for name in ("kept.md", "gone.md"))
    for each in (kept, gone):
        store_document(graph, each)
        write(graph, extraction(each, 0, found("Bees", description=f"Of {each.document}.")))
    rows(driver, "MATCH (j:Job) DETACH DELETE j")
    monkeypatch.setattr(graph, "most_queued", 0)
    assert delete_document(graph, gone.document_id).documents == 1
    assert concepts(driver) == {"Bees": 1}
    assert count(driver, "(c:Concept {description: 'Of kept.md.'})") == 1
