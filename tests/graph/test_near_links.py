"""Concepts are linked with what is near to them in meaning when they are embedded, in each space."""

from __future__ import annotations

import neo4j
import numpy as np
import pytest

from kg_api.graph import search
from kg_api.graph.concept_vectors import least_near, want_concepts
from kg_api.graph.document_writes import store_document
from kg_api.graph.search import ConceptNearness, Filters, Seed, by_concepts
from kg_api.schemas.base import concept_id
from kg_api.schemas.embedding import SpaceBuild
from kg_api.search.near import NO_VECTORS
from kg_api.spaces.plans import read_embedding_state
from tests.support.concept_work import learn, vectors
from tests.support.concepts import labelled, write
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record

NEST, WASP, GREY = "paper nest", "paper nest wasp", "grey paper nest"
LINKS = """MATCH (a:Concept)-[r:NEAR_TO]->(b:Concept)
           RETURN r.space AS space, a.label AS one, b.label AS other, r.cosine AS cosine
           ORDER BY space, one, other"""


@pytest.fixture
def learned(kg: Kg) -> Kg:
    """Five concepts, of which two are near to each other."""
    learn(kg.graph)
    learn(kg.graph, WASP, paragraph=1)
    kg.work()
    return kg


def linked(driver: neo4j.Driver) -> list[tuple[str, str, str]]:
    return [(row["space"], row["one"], row["other"]) for row in rows(driver, LINKS)]


def near(kg: Kg, driver: neo4j.Driver, *labels: str) -> set[tuple[str, float]]:
    """What a search goes on to from concepts that have sources of their own, and with which score."""
    rows(driver, "MATCH (:Concept)-[a:APPEARS_IN]->() SET a.verified = true")  # no text says these names
    space = read_embedding_state(kg.graph, "notes").answering.space
    seeds = [Seed(concept_id("notes", label), 1.0) for label in labels]
    within = ConceptNearness(space, ["notes"], least_near(space))
    filters = Filters(["notes"])
    hits = by_concepts(kg.graph, seeds, [], filters, NO_VECTORS, limit=10, nearness=[within])
    every = {(each.label, round(hit.score, 6)) for hit in hits for each in hit.through}
    return {(name, score) for name, score in every if name not in labels}


def test_what_is_embedded_is_linked_with_what_is_near(learned: Kg, driver: neo4j.Driver) -> None:
    assert {(one, other) for _, one, other in linked(driver)} == {(NEST, WASP), (WASP, NEST)}
    found = vectors(driver)
    one, other = (found[each] / np.linalg.norm(found[each]) for each in (NEST, WASP))
    assert [row["cosine"] for row in rows(driver, LINKS)] == pytest.approx([one @ other] * 2, abs=1e-4)
    assert {name for name, _ in near(learned, driver, NEST)} == {WASP}
    assert near(learned, driver, "river delta") == set()


def test_links_lead_to_what_the_index_leads_to(learned: Kg, driver: neo4j.Driver) -> None:
    learn(learned.graph, GREY, paragraph=2)
    learned.work()
    by_links = {label: near(learned, driver, label) for label in (NEST, WASP, GREY)}
    assert [len(each) for each in by_links.values()] == [2, 1, 1], "from what was there before, too"
    rows(driver, "MATCH (c:Concept) SET c.linked_at = null")
    assert {label: near(learned, driver, label) for label in by_links} == by_links


def test_what_is_not_linked_yet_is_looked_up_and_what_is_linked_goes_by_its_links(
    learned: Kg, driver: neo4j.Driver
) -> None:
    every = near(learned, driver, NEST, "river delta")
    assert {name for name, _ in every} == {WASP}
    rows(driver, "MATCH (c:Concept {label: 'river delta'}) SET c.linked_at = null")
    assert near(learned, driver, NEST, "river delta") == every
    rows(driver, "MATCH (:Concept)-[r:NEAR_TO]->() DELETE r")
    assert near(learned, driver, NEST, "river delta") == set(), (
        "no index is asked for what is linked with nothing"
    )
    rows(driver, "MATCH (c:Concept {label: $l}) SET c.linked_at = null", l=NEST)
    assert near(learned, driver, NEST, "river delta") == every


def test_each_space_goes_on_from_as_many_concepts(
    learned: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However heavy those of another space are, and whether they are linked or not."""
    monkeypatch.setattr(search, "NEAR_TO", 1)
    made = record("b.md", [f"A {NEST}.", f"A {WASP}."], "other")
    store_document(learned.graph, made)
    learned.graph.transaction(lambda tx: want_concepts(tx, "other"))
    write(learned.graph, labelled(made, 0, NEST), labelled(made, 1, WASP), ontology="other")
    learned.add("small")
    learned.switch.build("small", SpaceBuild(activate=False))
    learned.work()
    rows(driver, "MATCH (:Concept)-[a:APPEARS_IN]->() SET a.verified = true")
    within = [
        ConceptNearness(learned.spaces.get(slug).space, [name], 0.2)
        for slug, name in (("default", "notes"), ("small", "other"))
    ]
    seeds = [Seed(concept_id("notes", NEST), 9.0), Seed(concept_id("other", NEST), 1.0)]

    def found() -> set[tuple[str, str]]:
        hits = by_concepts(
            learned.graph, seeds, [], Filters(["notes", "other"]), NO_VECTORS, limit=10, nearness=within
        )
        return {(hit.source.ontology, each.label) for hit in hits for each in hit.through}

    linked_with = {(name, label) for name in ("notes", "other") for label in (NEST, WASP)}
    assert found() == linked_with
    rows(driver, "MATCH (c:Concept {ontology: 'other'}) SET c.linked_at_small = null")
    assert found() == linked_with


def test_a_link_to_what_says_something_else_by_now_leads_nowhere(learned: Kg, driver: neo4j.Driver) -> None:
    rows(
        driver,
        "MATCH (d:Concept {label: 'river delta'}), (w:Concept {label: $l}) SET w.embedding = d.embedding",
        l=WASP,
    )
    assert near(learned, driver, NEST) == set()


def test_a_space_has_its_own_links_and_takes_them_along(learned: Kg, driver: neo4j.Driver) -> None:
    learned.add("small")
    learned.switch.build("small", SpaceBuild(activate=False))
    learned.work()
    assert {space for space, *_ in linked(driver)} == {"default", "small"}
    learned.switch.activate("small")
    assert {name for name, _ in near(learned, driver, NEST)} == {WASP}
    learned.drop.drop("default", "notes")
    learned.work()
    assert {space for space, *_ in linked(driver)} == {"small"}
    assert rows(driver, "MATCH (c:Concept) WHERE c.linked_at IS NOT NULL RETURN c") == []
