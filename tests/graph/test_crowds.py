"""How many candidates a vector index is asked for: by how many passages there are where it is looked."""

from __future__ import annotations

import pytest

from kg_api.graph.database import Graph, Lookup
from kg_api.graph.documents.writes import store_documents
from kg_api.graph.search import crowds
from kg_api.graph.search.crowds import Crowds
from kg_api.models.queries.search import SourceSearch
from kg_api.search.plan import search_plan
from kg_api.search.service import SearchService
from tests.support.kg import TEXTS, Kg
from tests.support.records import record

FEW, MANY = 4, 36
ALL = FEW + MANY + len(TEXTS)


@pytest.fixture
def harbours(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> Kg:
    """A small ontology beside a large one, where ten passages are a crowd."""
    for module in (crowds, search_plan):
        monkeypatch.setattr(module, "CROWDED", 10)
    for name, count in (("small", FEW), ("large", MANY)):
        texts = [f"the keeper counts ships {name} {number}" for number in range(count)]
        store_documents(kg.graph, [record("log.md", texts, ontology=name)])
    kg.work()
    return kg


def test_an_ontology_is_as_crowded_as_it_is_large(harbours: Kg) -> None:
    counted = Crowds(harbours.graph)
    scopes = (None, ["small"], ["large", "small"], ["nowhere"], [])
    assert [counted.of(names) for names in scopes] == [ALL, FEW, FEW + MANY, 0, 0]


def test_few_passages_are_not_told_apart(kg: Kg) -> None:
    assert Crowds(kg.graph).of(["nowhere"]) == len(TEXTS)


def test_a_search_in_a_small_ontology_pays_for_its_own_crowd(
    harbours: Kg, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Lookup] = []
    look_up = Graph.look_up
    monkeypatch.setattr(
        Graph, "look_up", lambda graph, lookups: asked.extend(lookups) or look_up(graph, lookups)
    )
    service = SearchService(harbours.graph, harbours.spaces)
    try:
        for ontology in ("small", "large", None):
            service.search(SourceSearch(query_text="ships", ontology=ontology, mode="vector"))
    finally:
        service.close()
    candidates = [each.parameters["candidates"] for each in asked if "candidates" in each.parameters]
    assert candidates == [50, 94, 114]  # the lane's depth; 50 x sqrt(36 / 10); 50 x sqrt(52 / 10)
