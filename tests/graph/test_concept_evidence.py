"""Evidence of concepts: beside what was imported, gone with its sources, written by many at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import count_for_extraction, due_for_extraction
from kg_api.graph.document_writes import delete_document, delete_ontology, store_document
from kg_api.schemas.base import concept_id, name_id
from kg_api.schemas.concepts import ExtractedRelation
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

BEES = ["Bees dance to show flowers.", "Flowers give nectar to bees.", "Wasps build paper nests."]


@pytest.fixture
def bees(graph: Graph) -> DocumentRecord:
    made = record("bees.md", BEES)
    store_document(graph, made)
    return made


def test_evidence_goes_with_its_document(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    wasps = record("wasps.md", ["Wasps and bees sting."])
    store_document(graph, wasps)
    text = bees.sources[0].full_text
    quoted = [found(each, quote(text, each)) for each in ("Bees", "dance")]
    write(graph, extraction(bees, 0, *quoted, relations=(ExtractedRelation("Bees", "do", "dance"),)))
    write(graph, labelled(wasps, 0, "bees", "Wasps"))
    delete_document(graph, bees.document_id)
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1, "Wasps": 1}
    assert count(driver, "()-[:RELATED_TO]->()") == 0
    delete_ontology(graph, "notes")
    assert count(driver, "(n) WHERE n:Concept OR n:ConceptName OR n:Instance OR n:Source") == 0


def test_a_paragraph_that_changes_loses_its_evidence(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees", "dance"), labelled(bees, 1, "Flowers"), labelled(bees, 2, "Wasps"))
    store_document(graph, record("bees.md", [BEES[2], "Bees waggle.", BEES[1] + "\n"]))
    check_invariants(driver)
    assert concepts(driver) == {"Flowers": 1, "Wasps": 1}
    assert [each.paragraph for each in due_for_extraction(graph, "notes", "m1", ("", -1), 9)] == [1]


def test_ontologies_keep_their_concepts_apart(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    others = record("bees.md", BEES, ontology="others")
    store_document(graph, others)
    write(graph, labelled(bees, 0, "Bees"))
    write(graph, labelled(others, 0, "Bees"), ontology="others")
    check_invariants(driver)
    assert count(driver, "(:Concept {label: 'Bees'})") == 2
    delete_ontology(graph, "others")
    assert concepts(driver) == {"Bees": 1}


def test_what_was_imported_and_what_was_extracted_stand_side_by_side(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees", "dance"), mark="file", imported=True)
    assert count_for_extraction(graph, "notes", "m1") == 3
    write(graph, labelled(bees, 0, "Bees", "flowers"))
    assert concepts(driver) == {"Bees": 1, "dance": 1, "flowers": 1}
    write(graph, labelled(bees, 0, "show"))
    assert concepts(driver) == {"Bees": 1, "dance": 1, "show": 1}
    write(graph, labelled(bees, 0, "show", "Bees"))
    write(graph, labelled(bees, 0, "dance"), mark="file", imported=True)
    check_invariants(driver)
    assert concepts(driver) == {"dance": 1, "show": 1}  # "Bees" was the import's; so the source is due again
    assert [each.paragraph for each in due_for_extraction(graph, "notes", "m1", ("", -1), 9)] == [0, 1, 2]
    write(graph, labelled(bees, 0, "show", "Bees"))
    assert concepts(driver) == {"dance": 1, "show": 1, "Bees": 1}


def test_a_quote_keeps_an_appearance_that_an_import_drops(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees"))
    text = bees.sources[0].full_text
    write(graph, extraction(bees, 0, found("bees", quote(text, "Bees dance"))), mark="file", imported=True)
    assert count(driver, "(:Instance)") == 2
    write(graph, labelled(bees, 0), mark="file", imported=True)
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1}
    assert count(driver, "(:Instance)") == 1


def test_a_relationship_follows_what_its_names_mean(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    """Its id is of the names; when a name means another concept since, it is written between others."""
    one = extraction(bees, 0, found("a"), found("b"), relations=(ExtractedRelation("a", "to", "b"),))
    write(graph, one, extraction(bees, 1, found("c")))
    rows(
        driver,
        "MATCH (n:ConceptName {name_id: $name})-[r:NAMES]->() MATCH (c:Concept {label: 'c'}) "
        "DELETE r CREATE (n)-[:NAMES]->(c)",
        name=name_id("notes", "b"),
    )
    write(graph, one)
    told = rows(driver, "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label AS a, b.label AS b")
    assert told == [{"a": "a", "b": "c"}]
    assert concepts(driver) == {"a": 1, "c": 2}


def test_evidence_of_a_merged_concept_keeps_its_ids(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees"), labelled(bees, 1, "Flowers"))
    ids = {"bees": concept_id("notes", "bees"), "flowers": concept_id("notes", "flowers")}
    rows(
        driver,
        "MATCH (a:Concept {concept_id: $bees}), (b:Concept {concept_id: $flowers}) "
        "MATCH (a)-[r:APPEARS_IN]->(s), (a)-[:EVIDENCED_BY]->(i), (n)-[:NAMES]->(a) "
        "CREATE (b)-[q:APPEARS_IN]->(s) SET q = properties(r), q.terms = ['Bees'] "
        "CREATE (b)-[:EVIDENCED_BY]->(i) "
        "CREATE (n)-[:NAMES]->(b) SET b.search_terms = ['Bees'] DETACH DELETE a",
        **ids,
    )
    write(graph, labelled(bees, 1, "Flowers"))  # takes note of the new text
    before = picture(driver)
    write(graph, labelled(bees, 0, "Bees"))
    assert picture(driver) == before


def test_writers_at_once_make_no_duplicates(graph: Graph, driver: neo4j.Driver) -> None:
    """Eight writers, each with a document of its own, all finding the same new concepts in other orders."""
    names = [f"idea {chr(97 + n % 20)}{chr(97 + n // 20)}" for n in range(40)]
    records = [record(f"{n}.md", [" ".join(names)] * 2) for n in range(8)]
    for each in records:
        store_document(graph, each)
    barrier = threading.Barrier(8)

    def run(number: int) -> int:
        each = records[number]
        turned = names[number * 5 :] + names[: number * 5]
        relations = tuple(ExtractedRelation(a, "then", b) for a, b in pairwise(turned))
        text = each.sources[0].full_text
        barrier.wait()
        done = 0
        for paragraph in (0, 1):
            quoted = [found(name, quote(text, name), search_terms=(f"{name}s",)) for name in turned]
            done += write(graph, extraction(each, paragraph, *quoted, relations=relations))
        return done

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, range(8))) == 16
    check_invariants(driver)
    assert concepts(driver) == dict.fromkeys(names, 16)
    assert count(driver, "(:ConceptName)") == 40
    assert count(driver, "(:Instance)") == 16 * 40
    assert count(driver, "()-[:RELATED_TO]->()") == 16 * 39


def test_writing_while_the_last_source_goes(graph: Graph, driver: neo4j.Driver) -> None:
    """Documents come and go with the same concepts; none is lost, and none is left behind."""
    kept = record("kept.md", ["The common idea stays."])
    store_document(graph, kept)
    stop = threading.Event()

    def come_and_go(number: int) -> int:
        each, times = record(f"{number}.md", ["The common idea comes and goes."]), 0
        while not stop.is_set():
            store_document(graph, each)
            write(graph, labelled(each, 0, "common idea", "goes"))
            delete_document(graph, each.document_id)
            times += 1
        return times

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(come_and_go, number) for number in range(3)]
        try:
            for _ in range(10):
                write(graph, labelled(kept, 0, "common idea"))
                assert concepts(driver)["common idea"] >= 1
                write(graph, labelled(kept, 0))
            write(graph, labelled(kept, 0, "common idea"))
        finally:
            stop.set()
        assert all(each.result() > 0 for each in running)
    check_invariants(driver)
    assert concepts(driver) == {"common idea": 1}
