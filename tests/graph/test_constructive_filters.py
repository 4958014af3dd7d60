"""What a query sees holds in all of its steps, and what a person linked is shown."""

from __future__ import annotations

import json
from dataclasses import replace

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.schemas.base import concept_id
from tests.support.concept_graph import store_concepts
from tests.support.constructive import Step, ask, expand, names, seed
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record

USES = {0: [("alpha", "uses", "beta")]}


@pytest.mark.parametrize(
    "step", [{"where": ["team=x"]}, {"documents": ["b.md"]}, {"documents": ["a.md", "b.md"]}]
)
def test_a_filter_step_never_shows_what_the_query_does_not_see(
    kg: Kg, constructive: ConstructiveService, step: Step
) -> None:
    for document, text in (("a.md", "alpha uses beta."), ("b.md", "alpha uses beta, secretly.")):
        made = replace(record(document, [text]), metadata=json.dumps({"team": "x"}))
        store_concepts(kg.graph, made, {0: ["alpha", "beta"]}, USES)
    whole = ask(constructive, seed("alpha"), expand("related_to"), {"step": "filter", **step})
    assert {quote.document for edge in whole.edges for quote in edge.quotes} >= {"b.md"}
    found = ask(
        constructive, seed("alpha"), expand("related_to"), {"step": "filter", **step}, documents=["a.md"]
    )
    told = [(edge.sources, [quote.document for quote in edge.quotes]) for edge in found.edges]
    seen = [] if step == {"documents": ["b.md"]} else [(1, ["a.md"])]
    assert told == seen
    assert names(found) == (["alpha", "beta"] if seen else [])


def test_what_a_person_linked_stands_before_what_texts_state(kg: Kg, driver: neo4j.Driver) -> None:
    spokes = [f"spoke{n}" for n in range(30)]
    text = f"hub friend {' '.join(spokes)}"
    made = record("hub.md", [text])
    store_concepts(
        kg.graph, made, {0: ["hub", "friend", *spokes]}, {0: [("hub", "has", each) for each in spokes]}
    )
    hub, friend = concept_id("notes", "hub"), concept_id("notes", "friend")
    rows(
        driver,
        "MATCH (a:Concept {concept_id: $a}), (b:Concept {concept_id: $b})"
        "CREATE (a)-[:LINKED_TO {proposal_id: 'p', type: 'linked', confidence: 0.1}]->(b)",
        a=hub,
        b=friend,
    )
    found = kg.graph.read("concepts/related", concept_ids=[hub], scanned=10_000, limit=20, most_sources=3)
    assert found[0]["label"] == "friend"
    assert len(found) == 20
