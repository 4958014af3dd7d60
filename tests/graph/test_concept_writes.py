"""Concepts and their evidence in the graph: written, replaced, gone with their sources."""

from __future__ import annotations

from typing import Any, LiteralString

import neo4j
import pytest

from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.concept_writes import count_for_extraction, due_for_extraction
from kg_api.graph.concepts import TERMS
from kg_api.graph.document_writes import store_document
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
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


def test_what_was_found_is_there(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    text = bees.sources[0].full_text
    one = extraction(
        bees,
        0,
        found("Bees", quote(text, "Bees dance"), description="Insects", search_terms=("honey bees",)),
        found("dance", confidence=0.5),
        relations=(ExtractedRelation("bees", "perform", "Dance"),),
    )
    assert write(graph, one) == 1
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1, "dance": 1}
    assert rows(driver, "MATCH (i:Instance) RETURN i.quote AS q, i.start AS start") == [
        {"q": "Bees dance", "start": 0}
    ]
    seen = rows(
        driver,
        "MATCH (c)-[a:APPEARS_IN]->() RETURN c.label AS l, a.verified AS v, a.confidence AS c ORDER BY l",
    )
    assert [tuple(row.values()) for row in seen] == [("Bees", True, 1.0), ("dance", False, 0.5)]
    told = rows(driver, "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label AS a, r.type AS r, b.label AS b")
    assert told == [{"a": "Bees", "r": "perform", "b": "dance"}]
    assert count(driver, "(:ConceptName {name: 'bees'})-[:NAMES]->(:Concept {label: 'Bees'})") == 1


def test_twice_is_as_once(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    relations = (ExtractedRelation("Bees", "show", "flowers"),)
    text = bees.sources[0].full_text
    named = [found(each, quote(text, each), search_terms=("x", each)) for each in ("Bees", "flowers")]
    both = [extraction(bees, 0, *named, relations=relations), labelled(bees, 1, "Flowers", "nectar")]
    write(graph, *both)
    before = picture(driver)
    asked = count(driver, "(j:Job {kind: 'concept_embedding'}) WHERE j.wanted = 1")
    write(graph, *both)
    assert picture(driver) == before
    assert asked == count(driver, "(j:Job {kind: 'concept_embedding'}) WHERE j.wanted = 1") == 1
    write(graph, *reversed(both))
    assert picture(driver) == before


def test_one_name_is_one_concept(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    write(graph, labelled(bees, 0, "flowers", "Bees"))
    write(graph, labelled(bees, 1, "Flowers", "bees"))
    assert concepts(driver) == {"flowers": 2, "Bees": 2}


def test_another_form_of_a_label_is_the_same_concept(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, extraction(bees, 0, found("lease", forms=("leases",))))
    write(graph, extraction(bees, 1, found("Leases", forms=("leases", "lease"))))
    assert concepts(driver) == {"lease": 2}
    (row,) = rows(driver, "MATCH (c:Concept) RETURN c.search_terms AS terms")
    assert row == {"terms": ["leases"]}


def test_a_search_term_is_no_name(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    """A term may be broader than its concept; whether both are the same is for merging to judge."""
    write(graph, extraction(bees, 0, found("CPython", search_terms=("Python",))))
    write(graph, extraction(bees, 1, found("Python")))
    assert concepts(driver) == {"CPython": 1, "Python": 1}


def test_what_is_not_found_any_more_goes(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    relation = ExtractedRelation("Bees", "show", "flowers")
    text = bees.sources[0].full_text
    quoted = [found(each, quote(text, each)) for each in ("Bees", "dance", "flowers")]
    write(graph, extraction(bees, 0, *quoted, relations=(relation,)), labelled(bees, 1, "bees"))
    write(graph, labelled(bees, 0, "dance"), mark="m2")
    check_invariants(driver)
    assert concepts(driver) == {"dance": 1, "Bees": 1}
    assert count(driver, "()-[:RELATED_TO]->()") == 0
    assert count(driver, "(:ConceptName)") == 2


def test_a_source_that_changed_is_passed_over(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    old = labelled(bees, 0, "Bees")
    gone = Extraction("0" * 32, "x", old.concepts)
    other = Extraction(old.source_id, "another", old.concepts)
    assert write(graph, gone, other) == 0
    assert write(graph, old, ontology="others") == 0
    assert concepts(driver) == {}
    assert count_for_extraction(graph, "notes", "m1") == 3


def test_sources_are_due_until_they_are_read(graph: Graph, bees: DocumentRecord) -> None:
    assert [each.paragraph for each in due_for_extraction(graph, "notes", "m1", ("", -1), 2)] == [0, 1]
    after = (bees.document_id, 0)
    assert [each.paragraph for each in due_for_extraction(graph, "notes", "m1", after, 2)] == [1, 2]
    refused = Extraction(bees.sources[1].source_id, bees.sources[1].content_hash, refused="too\nlong")
    assert write(graph, labelled(bees, 0), refused) == 2
    assert [each.paragraph for each in due_for_extraction(graph, "notes", "m1", ("", -1), 9)] == [2]
    assert count_for_extraction(graph, "notes", "m1") == 1
    assert count_for_extraction(graph, "notes", "m2") == 3


def test_a_refusal_says_why_and_takes_nothing_away(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees"))
    write(graph, Extraction(bees.sources[0].source_id, bees.sources[0].content_hash, refused="no\x00 answer"))
    assert concepts(driver) == {"Bees": 1}
    said = "MATCH (s:Source) WHERE s.not_extracted_because IS NOT NULL RETURN s.not_extracted_because AS why"
    assert rows(driver, said) == [{"why": "no answer"}]
    write(graph, labelled(bees, 0, "Bees"))
    assert rows(driver, said) == []


def test_strange_texts_do_no_harm(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    text = bees.sources[0].full_text
    strange = ExtractedConcept(
        "Be\x00es\u202e \ud800" + "e" * 500,
        (Quote("Bees", 3, 7), Quote("Bees", -4, 4), Quote("", 0, 0), Quote(text, 0, len(text))),
        "d" * 5000,
        tuple(f"term {chr(200 + n) * 3}" for n in range(50)),
        float("nan"),
    )
    blank = ExtractedConcept(" \x00\u200b \t", ())
    loops = (ExtractedRelation("bees", "is", "Bees"), ExtractedRelation("bees", "eats", "nothing"))
    write(graph, extraction(bees, 0, strange, blank, found("bees"), relations=loops))
    check_invariants(driver)
    (row,) = rows(driver, "MATCH (c:Concept) WHERE c.description <> '' RETURN c")
    concept = row["c"]
    assert (len(concept["label"]), len(concept["description"])) == (200, 1000)
    assert (len(concept["search_terms"]), concept["label"][:6]) == (TERMS, "Be es ")
    (kept,) = rows(driver, "MATCH (i:Instance) RETURN i.quote AS quote")
    assert kept["quote"] == text.rstrip()


def test_a_long_quote_is_cut_to_what_is_still_verbatim(graph: Graph, driver: neo4j.Driver) -> None:
    long = record("long.md", ["🐝 word " * 400])
    store_document(graph, long)
    text = long.sources[0].full_text
    write(graph, extraction(long, 0, found("bee", Quote(text[1:], 1, len(text)))))
    check_invariants(driver)
    (kept,) = rows(driver, "MATCH (i:Instance) RETURN i.quote AS quote")
    assert 990 < len(kept["quote"]) <= 1000


def test_more_is_learned_of_a_concept(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    write(graph, labelled(bees, 0, "Bees"))
    write(graph, extraction(bees, 1, found("bees", description="Insects", search_terms=("Apis",))))
    write(graph, extraction(bees, 2, found("BEES", description="Other", search_terms=("Bees", "apis"))))
    (row,) = rows(driver, "MATCH (c:Concept) RETURN c.label AS l, c.description AS d, c.search_terms AS s")
    assert row == {"l": "Bees", "d": "Insects", "s": ["Apis"]}


def test_nothing_is_looked_for_that_a_source_cannot_have(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    run = Transaction.run

    def recorded(self: Transaction, name: LiteralString, *space: str, **parameters: Any) -> list[Row]:
        asked.append(name)
        return run(self, name, *space, **parameters)

    monkeypatch.setattr(Transaction, "run", recorded)
    looks = {"concepts/present_quotes", "concepts/present_appearances", "concepts/write_quotes"}
    write(graph, labelled(bees, 0, "Bees"))
    assert looks.isdisjoint(asked)
    write(graph, labelled(bees, 0, "Bees", "dance"), labelled(bees, 1, "nectar"))
    assert looks < {*asked}, "one of them has been read before"
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1, "dance": 1, "nectar": 1}


def test_a_quote_that_was_left_without_a_source_is_tied_again(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees"))
    before = picture(driver)
    rows(driver, "MATCH (i:Instance)-[r]-() DELETE r WITH i MATCH (c)-[a:APPEARS_IN]->() DELETE a")
    write(graph, labelled(bees, 0, "Bees"))
    check_invariants(driver)
    assert picture(driver) == before
