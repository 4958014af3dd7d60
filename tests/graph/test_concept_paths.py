"""Ways between concepts over a real database."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.concepts import network
from kg_api.concepts.search import ConceptService
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph import concepts
from kg_api.schemas.concepts import APPEARS_WITH, ConceptPaths
from tests.support.concept_graph import store_concepts
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record


@pytest.fixture
def service(kg: Kg) -> ConceptService:
    return ConceptService(kg.graph, kg.spaces)


def told(found: ConceptPaths) -> list[list[str]]:
    return [[each.label for each in path.concepts] for path in found.paths]


def test_the_shortest_path_is_told_as_the_texts_state_it(
    service: ConceptService, ids: dict[str, str]
) -> None:
    found = service.paths(ids["Ada Lovelace"], "thames", None, 4, 5)
    assert told(found) == [["Ada Lovelace", "Analytical Engine", "London", "Thames"]]
    assert (found.start.label, found.end.label, found.degraded) == ("Ada Lovelace", "Thames", [])
    steps = [(each.subject, each.type, each.object, len(each.sources)) for each in found.paths[0].steps]
    assert steps == [
        (ids["Ada Lovelace"], "wrote about", ids["Analytical Engine"], 1),
        (ids["Analytical Engine"], "designed in", ids["London"], 1),
        (ids["London"], "lies on", ids["Thames"], 1),
    ]
    assert service.paths(ids["Ada Lovelace"], ids["Thames"], None, 2, 5).paths == []
    same = service.paths("Thames", ids["Thames"], None, 1, 5)
    assert (same.paths, [each.effect for each in same.degraded]) == (
        [],
        ["both ends are the same concept, 'Thames': there is no way to look for"],
    )
    backwards = service.paths("Thames", "London", None, 1, 5).paths[0].steps[0]
    assert (backwards.subject, backwards.object) == (ids["London"], ids["Thames"])


def test_a_phrase_is_taken_for_the_concept_that_fits_best_and_it_is_told(
    service: ConceptService, ids: dict[str, str]
) -> None:
    found = service.paths("a mechanical computer", "Ada Lovelace", None, 2, 5)
    assert (found.start.concept_id, len(found.paths)) == (ids["Analytical Engine"], 1)
    assert "'a mechanical computer'" in found.degraded[0].effect
    with pytest.raises(NotFound, match="'nowhere'"):
        service.paths("Ada Lovelace", "anything", ["nowhere"], 2, 5)
    with pytest.raises(NotFound, match=r"no concept fits 'qwertyzxcv' \(nearest: '"):
        service.paths("Ada Lovelace", "qwertyzxcv", None, 2, 5)
    with pytest.raises(NotFound, match="there is no concept '0000"):
        service.paths("Ada Lovelace", "0" * 32, None, 2, 5)


def test_sources_connect_what_no_text_states(kg: Kg, service: ConceptService, ids: dict[str, str]) -> None:
    store_concepts(kg.graph, record("bank", ["Herons by the Thames"]), {0: ["Herons", "Thames"]})
    found = service.paths("water", "London", None, 4, 5)
    assert told(found) == [["water", "Herons", "Thames", "London"]]
    assert [each.type for each in found.paths[0].steps] == [APPEARS_WITH, APPEARS_WITH, "lies on"]
    assert all(each.sources for each in found.paths[0].steps)
    assert ids


def test_ends_of_two_ontologies_are_not_connected(
    kg: Kg, service: ConceptService, ids: dict[str, str]
) -> None:
    away = store_concepts(kg.graph, record("x", ["Mars is red"], "other"), {0: ["Mars"]})
    with pytest.raises(InvalidInput, match="two ontologies"):
        service.paths(ids["Thames"], away["Mars"], None, 4, 5)
    with pytest.raises(InvalidInput, match="'Thames' is in 'notes' and 'Mars' is in 'other'"):
        service.paths("Thames", "Mars", None, 4, 5)
    store_concepts(kg.graph, record("y", ["London"], "other"), {0: ["London"]})
    both = service.paths("London", "Mars", None, 1, 1)
    assert {both.start.ontology, both.end.ontology} == {"other"}, "London is in both"


def test_a_hub_is_bounded_and_it_is_told(
    kg: Kg, service: ConceptService, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = store_concepts(kg.graph, record("h", ["the hub and the end"]), {0: ["hub", "end"]})
    rows(
        driver,
        "MATCH (h:Concept {concept_id: $hub}), (e:Concept {concept_id: $end}) "
        "UNWIND range(1, 600) AS n "
        "CREATE (c:Concept {concept_id: 'c' + n, ontology: 'notes', label: 'l' + n, description: ''}) "
        "SET c.search_terms = [] "
        "CREATE (h)-[:RELATED_TO {relation_id: 'r' + n, type: 't', confidence: 0.5, source_id: 's'}]->(c) "
        "WITH e, c WHERE c.label ENDS WITH '99' "
        "CREATE (c)-[:RELATED_TO {relation_id: 'e' + c.label, type: 't', source_id: 's'}]->(e)",
        hub=found["hub"],
        end=found["end"],
    )
    monkeypatch.setattr(network, "FAN_OUT", 5)
    paths = service.paths("hub", "end", None, 2, 20)
    assert 1 <= len(paths.paths) <= 6
    assert all(len(each.steps) == 2 for each in paths.paths), "seen from the end the hub is there"
    assert any("at most 5, were followed" in each.effect for each in paths.degraded)
    monkeypatch.setattr(network, "SECONDS", -1.0)
    late = service.paths("hub", "end", None, 2, 20)
    assert (late.paths, "was ended" in late.degraded[-1].effect) == ([], True)
    monkeypatch.setattr(concepts, "SCANNED", 50)
    assert len(service.related(found["hub"], 1, 200).related) <= 50
