"""Constructive queries beside concepts with very many edges: what is looked at, and what is told."""

from __future__ import annotations

from typing import Any

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput
from kg_api.graph import relation_search, traversal
from kg_api.graph.relation_search import read_relations
from kg_api.schemas.base import concept_id
from kg_api.schemas.constructive import Subgraph
from tests.support.concept_graph import store_concepts
from tests.support.constructive import ask, cuts, expand, seed
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record

SPOKES = 6
HUB = concept_id("notes", "hub")


@pytest.fixture
def wheel(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> Kg:
    """A hub that each of some documents relates to a spoke, and bounds that it is beyond."""
    store_concepts(kg.graph, record("long.md", ["Nothing."] * 3 + ["The hub."]), {3: ["hub"]})
    for number in range(SPOKES):
        spoke = f"spoke{number}"
        made = record(f"{number}.md", [f"The hub has {spoke}.", "Nothing."])
        store_concepts(kg.graph, made, {0: ["hub", spoke]}, {0: [("hub", "has", spoke)]})
    monkeypatch.setattr(traversal, "SCANNED", 2)
    return kg


def test_what_is_not_looked_at_beside_documents_is_told(wheel: Kg, constructive: ConstructiveService) -> None:
    assert wheel
    every = [f"{number}.md" for number in range(SPOKES)]
    found = ask(constructive, seed("hub"), expand("related_to", "appears_in"), documents=every)
    assert len(found.nodes) > 1
    assert told(found, 2) == ["hub"]
    chosen: dict[str, Any] = {"step": "filter", "documents": ["long.md"]}
    left = ask(constructive, seed("hub"), expand("related_to"), chosen)
    assert left.nodes == []
    assert (3, "hub", 1) in cuts(left)
    with pytest.raises(
        InvalidInput, match=r"was not found in .* that not all of it was looked at; ask for fewer"
    ):
        ask(constructive, seed("hub"), documents=["long.md"])


def test_all_sources_that_state_something_of_a_hub_are_counted(
    kg: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_search, "SCANNED", 2)
    for number in range(2):
        made = record(f"{number}.md", ["The hub has spoke0."])
        store_concepts(kg.graph, made, {0: ["hub", "spoke0"]}, {0: [("hub", "has", "spoke0")]})
    spokes = [f"spoke{number}" for number in range(5, 10)]
    made = record("more.md", [f"hub {' '.join(spokes)}"])
    store_concepts(kg.graph, made, {0: ["hub", *spokes]}, {0: [("hub", "has", each) for each in spokes]})
    found = read_relations(kg.graph, relation_ids(driver))
    assert sorted(each.stating for each in found.values()) == [1, 1, 1, 1, 1, 2, 2]


def relation_ids(driver: neo4j.Driver) -> list[str]:
    found = rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.relation_id AS id ORDER BY id")
    return [each["id"] for each in found]


def told(found: Subgraph, step: int) -> list[str]:
    return [by for at, by, _ in cuts(found) if at == step]
