from __future__ import annotations

from typing import Any

import neo4j
import pytest

from kg_api.graph import concept_vectors
from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concept_vectors import want_concepts
from kg_api.graph.concepts import TERMS
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.schemas.base import concept_id, hash_concept_text
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import check_invariants, extraction, found, picture, quote, write
from tests.support.cypher import rows
from tests.support.records import record

TEXTS = ["Bees dance.", "Bees sting.", "Bees fly."]


@pytest.fixture
def bees(graph: Graph) -> DocumentRecord:
    made = record("bees.md", TEXTS)
    store_document(graph, made)
    graph.transaction(lambda tx: want_concepts(tx, "notes"))  # so that each change asks for its embedding
    return made


@pytest.fixture
def more(graph: Graph) -> DocumentRecord:
    made = record("more.md", ["Bees lie.", "Bees hum."])
    store_document(graph, made)
    return made


def say(graph: Graph, of: DocumentRecord, paragraph: int, description: str, *terms: str, **more: Any) -> None:
    label, quoted = more.pop("label", "Bees"), more.pop("quoted", True)
    quotes = (quote(of.sources[paragraph].full_text, "Bees"),) if quoted else ()
    one = found(label, *quotes, description=description, search_terms=terms, **more)
    write(graph, extraction(of, paragraph, one))


def said(driver: neo4j.Driver) -> tuple[str, str, list[str]]:
    (row,) = rows(driver, "MATCH (c:Concept) RETURN properties(c) AS map")
    label, description, terms = (row["map"][each] for each in ("label", "description", "search_terms"))
    assert row["map"]["text_hash"] == hash_concept_text(label, description, terms)
    return label, description, terms


def wanted(driver: neo4j.Driver) -> int:
    found = rows(driver, "MATCH (j:Job {kind: 'concept_embedding'}) RETURN sum(j.total) AS total")
    return found[0]["total"]


def test_deleted_document_removes_its_descriptions(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, more: DocumentRecord
) -> None:
    say(graph, more, 0, "Pirates.", "gold", "Reserve")
    say(graph, bees, 0, "Insects.", "Apis", "gold")
    assert said(driver) == ("Bees", "Pirates.", ["gold", "Reserve", "Apis"])
    before = wanted(driver)
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "Insects.", ["Apis", "gold"])
    assert wanted(driver) == before + 1
    check_invariants(driver)


def test_withdrawn_description_is_removed(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, more: DocumentRecord
) -> None:
    say(graph, bees, 0, "")
    say(graph, more, 0, "Pirates.", "gold")
    store_document(graph, record("more.md", ["Nothing."]))
    assert said(driver) == ("Bees", "", [])


def test_repeated_extraction_replaces_description(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    say(graph, bees, 0, "A wrong one.", "junk", "rubbish")
    say(graph, bees, 0, "Insects.", "Apis", "junk")
    assert said(driver) == ("Bees", "Insects.", ["Apis", "junk"])
    before, asked = picture(driver), wanted(driver)
    say(graph, bees, 0, "Insects.", "Apis", "junk")
    assert (picture(driver), wanted(driver)) == (before, asked)
    say(graph, bees, 0, "")
    assert said(driver) == ("Bees", "", [])


def test_most_confident_description_wins_in_any_order(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, more: DocumentRecord
) -> None:
    last = max(bees.sources[:2], key=lambda source: source.source_id).paragraph
    for paragraph in (last, 1 - last):
        say(graph, bees, paragraph, f"Number {paragraph}.", f"t{paragraph}", confidence=0.8)
    say(graph, bees, 2, "Not proven.", "t2", confidence=1.0, quoted=False)
    say(graph, more, 0, "Gone.", "gone")
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", f"Number {1 - last}.", [f"t{1 - last}", f"t{last}", "t2"])
    say(graph, bees, 1 - last, "")
    assert said(driver) == ("Bees", f"Number {last}.", [f"t{last}", "t2"])
    say(graph, bees, last, "")
    assert said(driver) == ("Bees", "Not proven.", ["t2"])


def test_appearances_and_terms_are_bounded(
    graph: Graph,
    driver: neo4j.Driver,
    bees: DocumentRecord,
    more: DocumentRecord,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concept_vectors, "APPEARANCES_READ", 1)
    say(graph, bees, 0, "", *(f"a{n}" for n in range(30)), confidence=0.9)
    say(graph, bees, 1, "Insects.", "b", confidence=0.1)
    say(graph, more, 0, "Gone.", "gone")
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "Insects.", [f"a{n}" for n in range(TERMS)])


def test_merge_keeps_descriptions_and_names(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, more: DocumentRecord
) -> None:
    say(graph, bees, 0, "Insects.", "Apis")
    say(graph, bees, 1, "")
    say(graph, more, 0, "They hum.", "hum", label="Honeybees")
    say(graph, more, 1, "", label="Honeybees")
    pair = concept_id("notes", "Bees"), concept_id("notes", "Honeybees")
    rows(driver, "MATCH (c:Concept {label: 'Bees'}) SET c.created_at = datetime('2020-01-01T00:00:00Z')")
    assert merge_concepts(graph, pair, lambda _one, _other: True) == pair[0]
    assert said(driver) == ("Bees", "Insects.", ["Apis", "Honeybees", "hum"])
    before = picture(driver)
    say(graph, more, 0, "They hum.", "hum", label="Honeybees")
    assert picture(driver) == before, "what is found again is what went over"
    say(graph, bees, 0, "")
    assert said(driver) == ("Bees", "They hum.", ["Honeybees", "hum"])
    store_document(graph, record("more.md", ["Bees hum."]))
    assert said(driver) == ("Bees", "", ["Honeybees"]), "a source calls it so"
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "", [])
    check_invariants(driver)


def test_merge_within_one_source_keeps_both_descriptions(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord, more: DocumentRecord
) -> None:
    text = bees.sources[0].full_text
    both = extraction(
        bees,
        0,
        found("Bees", quote(text, "Bees"), search_terms=("Apis",)),
        found("Honeybees", description="Insects.", search_terms=("hum", "Apis")),
    )
    write(graph, both)
    say(graph, more, 0, "Pirates.", "gold")
    pair = concept_id("notes", "Bees"), concept_id("notes", "Honeybees")
    assert merge_concepts(graph, pair, lambda _one, _other: True) == pair[0]
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "Insects.", ["Apis", "Honeybees", "hum"])
    before = picture(driver)
    write(graph, both)
    assert picture(driver) == before
