"""Two concepts become one over a real database: nothing is lost or counts twice, whoever else is writing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concepts import Text
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.schemas.base import concept_id, concept_text_hash
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import (
    check_invariants,
    concepts,
    count,
    extraction,
    found,
    labelled,
    picture,
    quote,
    write,
)
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.two_concepts import MANY, ONE, TEXTS, always, both, ids, merged


@pytest.fixture
def texts(graph: Graph) -> DocumentRecord:
    made = record("texts.md", TEXTS)
    store_document(graph, made)
    return made


def one(driver: neo4j.Driver, label: str) -> dict[str, Any]:
    (row,) = rows(driver, "MATCH (c:Concept {label: $label}) RETURN properties(c) AS map", label=label)
    return row["map"]


def test_all_that_one_had_goes_over_and_counts_once(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    assert merged(graph, MANY, ONE) == concept_id("notes", ONE)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    quotes = rows(
        driver,
        "MATCH (:Concept {label: $label})-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) "
        "RETURN s.paragraph AS p, i.quote AS q, i.score AS score ORDER BY p",
        label=ONE,
    )
    assert [tuple(row.values()) for row in quotes] == [(0, ONE, 1.0), (1, MANY, 1.0), (2, ONE, 1.0)]
    told = rows(driver, "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label + ' ' + r.type + ' ' + b.label AS t")
    assert {row["t"] for row in told} == {
        f"{ONE} is not list",
        f"list contrasts {ONE}",
        f"{ONE} are iterators",
    }
    seen = rows(
        driver,
        "MATCH (:Concept {label: $l})-[a:APPEARS_IN]->(s) RETURN a.confidence AS c ORDER BY s.paragraph",
        l=ONE,
    )
    assert [row["c"] for row in seen] == [0.5, 1.0, 1.0], "the stronger counts"


def test_the_one_that_stays_has_both_names_and_is_due_for_embedding(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    before = one(driver, ONE)["text_hash"]
    merged(graph, ONE, MANY)
    kept = one(driver, ONE)
    assert kept["search_terms"] == [MANY, "genexp"]
    assert kept["description"] == "Lazy."
    assert kept["text_hash"] != before
    assert kept["text_hash"] == concept_text_hash(ONE, "Lazy.", [MANY, "genexp"])
    names = rows(driver, "MATCH (n:ConceptName)-[:NAMES]->(:Concept {label: $l}) RETURN n.name AS n", l=ONE)
    assert {row["n"] for row in names} == {ONE, MANY}


def test_twice_is_as_once_and_what_is_extracted_again_changes_nothing(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    merged(graph, ONE, MANY)
    write(graph, *both(texts))
    after = picture(driver)
    assert merged(graph, ONE, MANY) is None
    write(graph, *both(texts))
    assert picture(driver) == after
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    check_invariants(driver)


def test_more_sources_stay_then_the_older_then_the_smaller_id(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, labelled(texts, 0, "lazy"), labelled(texts, 1, "iterators"))
    rows(driver, "MATCH (c:Concept {label: 'lazy'}) SET c.created_at = c.created_at - duration('PT1H')")
    assert merged(graph, "iterators", "lazy") == concept_id("notes", "lazy")
    write(graph, labelled(texts, 0, "generator", "list"), labelled(texts, 2, "ends"))
    rows(driver, "MATCH (c:Concept) SET c.created_at = datetime('2026-01-01T00:00:00Z')")
    assert merged(graph, "list", "ends") == min(ids("list", "ends"))


def test_what_was_imported_stays_imported(graph: Graph, driver: neo4j.Driver, texts: DocumentRecord) -> None:
    text = texts.sources[1].full_text
    write(graph, extraction(texts, 1, found(MANY, quote(text, MANY))), mark="file", imported=True)
    write(graph, extraction(texts, 1, found(ONE, quote(text, MANY))), labelled(texts, 0, ONE))
    assert merged(graph, ONE, MANY) == concept_id("notes", ONE)
    write(graph, extraction(texts, 1), labelled(texts, 0, ONE), mark="m2")
    check_invariants(driver)
    assert concepts(driver) == {ONE: 2}, "the extractor finds it in one source, the file said it of the other"


def test_two_ontologies_never_share_a_concept(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    other = record("texts.md", TEXTS, "other")
    store_document(graph, other)
    write(graph, labelled(texts, 0, ONE))
    write(graph, labelled(other, 0, ONE), ontology="other")
    pair = concept_id("notes", ONE), concept_id("other", ONE)
    assert merge_concepts(graph, pair, always) is None
    assert count(driver, "(:Concept)") == 2


def test_a_document_takes_its_evidence_along_after_a_merge(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    more = record("more.md", [f"More of {MANY}."])
    store_document(graph, more)
    write(graph, *both(texts), labelled(more, 0, MANY))
    merged(graph, ONE, MANY)
    delete_document(graph, texts.document_id)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 1}
    delete_document(graph, more.document_id)
    assert count(driver, "(n) WHERE n:Concept OR n:ConceptName OR n:Instance") == 0


def test_whoever_names_the_one_that_goes_while_it_goes_finds_the_one_that_stays(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, labelled(texts, 0, ONE), labelled(texts, 2, ONE), labelled(texts, 1, MANY))
    more = record("more.md", [f"More of {MANY} and {ONE}."])
    store_document(graph, more)
    with ThreadPoolExecutor(1) as pool:
        writing = []

        def meanwhile(_one: Text, _other: Text) -> bool:
            if not writing:
                writing.append(pool.submit(write, graph, labelled(more, 0, MANY)))
                threading.Event().wait(0.5)  # it has looked the name up and waits for the lock
            return True

        assert merge_concepts(graph, ids(ONE, MANY), meanwhile) == concept_id("notes", ONE)
        assert writing[0].result() == 1
    check_invariants(driver)
    assert concepts(driver) == {ONE: 4}


def test_evidence_that_comes_in_before_the_lock_goes_over_too(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, labelled(texts, 0, ONE), labelled(texts, 2, ONE))
    more = record("more.md", [f"More of {MANY}."])
    store_document(graph, more)
    write(graph, labelled(texts, 1, MANY))
    holding, go = threading.Event(), threading.Event()

    def hold_and_write() -> None:
        def work(tx: Any) -> None:
            tx.run("concepts/hold", ontology="notes", ids=[concept_id("notes", MANY)])
            holding.set()
            go.wait(10)

        graph.transaction(work)
        write(graph, labelled(more, 0, MANY))

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(hold_and_write)
        holding.wait(10)
        merging = pool.submit(merged, graph, ONE, MANY)
        threading.Event().wait(0.3)
        assert not merging.done(), "it waits for the lock"
        go.set()
        writing.result()
        merging.result()
    check_invariants(driver)
    assert concepts(driver) == {ONE: 4}


def test_many_write_and_merge_at_once(graph: Graph, driver: neo4j.Driver, texts: DocumentRecord) -> None:
    work: list[Callable[[], object]] = [lambda: write(graph, *both(texts)), lambda: merged(graph, ONE, MANY)]
    write(graph, *both(texts))
    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(each) for each in work * 2]:
                done.result()
        check_invariants(driver)
        assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
