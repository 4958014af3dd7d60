"""Constructive queries beside concepts with very many edges: what is looked at, and what is told."""

from __future__ import annotations

from typing import Any, LiteralString, cast

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput
from kg_api.graph import relation_search, traversal
from kg_api.graph.relation_search import read_relations
from kg_api.schemas.base import concept_id
from kg_api.schemas.constructive import Subgraph
from tests.support.concept_graph import store_concepts
from tests.support.constructive import ask, cuts, expand, names, seed, triples
from tests.support.cypher import STATEMENTS, explained_with, rows
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
    monkeypatch.setattr(traversal, "SCANNED", 2)
    monkeypatch.setattr(traversal, "LOOKED_AT", 2)
    return kg


@pytest.mark.parametrize("number", range(SPOKES))
def test_a_filter_beside_a_hub_sees_all_that_its_documents_say(
    wheel: Kg, constructive: ConstructiveService, number: int
) -> None:
    assert wheel
    there = ["hub", f"spoke{number}", f"{number}.md#0"]
    stated = ("hub", "has", f"spoke{number}")
    follow = expand("related_to", "appears_in")
    only = ask(constructive, seed("hub"), follow, documents=[f"{number}.md"])
    assert (names(only), cuts(only)) == (there, [])
    assert stated in triples(only)
    assert triples(ask(constructive, seed("hub"), expand("related_to"), documents=[f"{number}.md"])) == {
        stated
    }
    chosen: dict[str, Any] = {"step": "filter", "documents": [f"{number}.md"]}
    kept = ask(constructive, seed(HUB), seed(f"spoke{number}"), expand("appears_in", direction="out"), chosen)
    assert {"hub", f"spoke{number}"} <= {*names(kept)}
    assert "hub" not in {by for at, by, _ in cuts(kept) if at == 4}


def test_what_documents_of_many_sources_say_of_a_hub_is_looked_at_in_part_and_it_is_told(
    wheel: Kg, constructive: ConstructiveService
) -> None:
    assert wheel
    first = ask(constructive, seed("spoke1"), expand("related_to"), expand("appears_in", direction="out"))
    assert "hub" in names(first)
    assert "hub" in told(first, 3)
    every = [f"{number}.md" for number in range(SPOKES)]
    found = ask(constructive, seed("hub"), expand("related_to", "appears_in"), documents=every)
    assert len(found.nodes) > 1
    assert told(found, 2) == ["hub"]
    chosen: dict[str, Any] = {"step": "filter", "documents": ["long.md"]}
    left = ask(constructive, seed("hub"), expand("related_to"), chosen)
    assert left.nodes == []
    assert (3, "hub", 1) in cuts(left)
    with pytest.raises(
        InvalidInput, match=r"was not found in .* that not all of it was looked at; name fewer"
    ):
        ask(constructive, seed("hub"), documents=["long.md"])


def test_a_filter_keeps_what_its_documents_state_of_a_hub_and_one_of_few_relationships(
    wheel: Kg, constructive: ConstructiveService
) -> None:
    assert wheel
    stated = {("hub", "has", f"spoke{number}") for number in range(SPOKES)}
    seeds = [seed("hub"), *(seed(each) for _, _, each in sorted(stated))]
    all_of_them = {"step": "filter", "documents": [f"{number}.md" for number in range(SPOKES)]}
    steps = [*seeds, expand("related_to", fan_out=SPOKES)]
    kept = ask(constructive, *steps, all_of_them)
    assert triples(kept) == stated
    assert told(kept, len(steps) + 1) == []


def test_a_filter_looks_from_its_documents_for_what_is_between_two_hubs_and_tells_what_it_could_not(
    wheel: Kg, constructive: ConstructiveService
) -> None:
    text = "spoke1 spoke2 spoke3 hub tyre"
    holding = [(each, "holds", "tyre") for each in ("spoke1", "spoke2", "spoke3", "hub")]
    store_concepts(wheel.graph, record("tyre.md", [text]), {0: text.split()}, {0: holding})
    steps = [seed("hub"), seed("tyre"), expand("related_to", fan_out=SPOKES + 1)]
    between = ("hub", "holds", "tyre")
    for documents, states in ((["tyre.md"], True), (["1.md"], False)):
        kept = ask(constructive, *steps, {"step": "filter", "documents": documents})
        assert (between in triples(kept), "hub" in told(kept, 4)) == (states, False)
    many = ask(constructive, *steps, {"step": "filter", "documents": ["1.md", "2.md", "tyre.md"]})
    assert between not in triples(many)
    assert any(cut.effect.startswith("1 relationship left out that may fit") for cut in many.steps[3].cut)


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


@pytest.mark.parametrize(
    "name",
    [
        *("constructive/sources_of_concepts", "constructive/related", "constructive/within"),
        *("constructive/stated_within", "relations/read"),
    ],
)
def test_documents_do_not_make_a_statement_read_all_that_a_hub_has(
    kg: Kg, driver: neo4j.Driver, name: str
) -> None:
    labels = [f"spoke{number}" for number in range(300)]
    texts = [f"hub {label}" for label in labels]
    store_concepts(
        kg.graph,
        record("hub.md", texts),
        {at: ["hub", label] for at, label in enumerate(labels)},
        {at: [("hub", "has", label)] for at, label in enumerate(labels)},
    )
    given: dict[str, Any] = {
        "ids": [HUB],
        "document_ids": ["none"],
        "scanned": 10,
        "fan_out": 5,
        "most_quotes": 3,
    }
    if name == "relations/read":
        given |= {"ids": relation_ids(driver)[:1], "scanned": 10_000}
    ends = {"subject": HUB, "object": concept_id("notes", "spoke0")}
    given |= {"edges": [ends | {"number": 0, "type_key": "has"}], "outgoing": [True, False]}
    assert hits(driver, name, given) < 100


def relation_ids(driver: neo4j.Driver) -> list[str]:
    found = rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.relation_id AS id ORDER BY id")
    return [each["id"] for each in found]


def told(found: Subgraph, step: int) -> list[str]:
    return [by for at, by, _ in cuts(found) if at == step]


def hits(driver: neo4j.Driver, name: str, given: dict[str, Any]) -> int:
    """How often a statement asked the database for something; planned for what is there now."""
    text = STATEMENTS[name]
    version = "CYPHER 25" if "CYPHER 25\n" in text else "CYPHER"
    planned = f"{version} replan=force PROFILE {text.replace('CYPHER 25', '', 1)}"
    with driver.session() as session:
        ran = session.run(cast("LiteralString", planned), explained_with(text) | given)
        profile: Any = ran.consume().profile
    return total(profile)


def total(plan: Any) -> int:
    return plan["dbHits"] + sum(map(total, plan.get("children", ())))
