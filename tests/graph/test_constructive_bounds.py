"""Constructive queries over a real database: what they leave out, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, LiteralString, cast

import neo4j
import pytest

from kg_api.discovery import constructive as queries
from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph import traversal
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.support.concept_graph import store_concepts
from tests.support.constructive import ALL, ask, cuts, expand, names, seed
from tests.support.cypher import STATEMENTS, explain, explained_with
from tests.support.kg import Kg
from tests.support.records import record


def test_a_filter_that_leaves_nothing_says_so_and_the_steps_behind_it_go_on(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    found = ask(
        constructive,
        seed("Thames"),
        {"step": "filter", "kinds": ["image"]},
        expand(*ALL),
        {"step": "rank", "by": "pagerank"},
        {"step": "rank", "by": "text", "text": "river"},
        {"step": "limit", "nodes": 3},
    )
    assert (found.nodes, found.edges) == ([], [])
    assert found.note == "step 2 (filter) left nothing of 1 node: ask it for less, or leave it out"
    gone = ask(constructive, seed("Thames"), {"step": "filter", "where": ["document=none.md"]})
    assert gone.nodes == []
    assert "no document fits the conditions of the filter" in [each.effect for each in gone.degraded]
    assert (
        gone.note == "step 2 (filter) left nothing of 1 node: no document fits the conditions of the filter"
    )


def test_what_is_left_out_of_a_hub_is_counted(
    kg: Kg, constructive: ConstructiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [f"spoke{number}" for number in range(12)]
    text = f"hub {' '.join(labels)}"
    stated = [("hub", "has", each) for each in labels]
    store_concepts(kg.graph, record("hub.md", [text]), {0: ["hub", *labels]}, {0: stated})
    found = ask(constructive, seed("hub"), expand("related_to", fan_out=5))
    assert (len(found.nodes), cuts(found)) == (6, [(2, "fan_out", 7)])
    few = ask(constructive, seed("hub"), expand("related_to", fan_out=100, limit=4))
    assert (len(few.nodes), cuts(few)) == (5, [(2, "limit", 8)])
    monkeypatch.setattr(traversal, "SCANNED", 3)
    scanned = ask(constructive, seed("hub"), expand("related_to"))
    assert (len(scanned.nodes), [each[1] for each in cuts(scanned)]) == (4, ["hub"])
    monkeypatch.undo()
    monkeypatch.setattr(queries, "FRONTIER", 2)
    narrow = ask(constructive, seed("hub"), expand("related_to"), expand("appears_in", direction="out"))
    assert (3, "frontier", 9) in cuts(narrow)
    monkeypatch.setattr(queries, "MAX_SUBGRAPH_NODES", 6)
    crowded = ask(constructive, seed("hub"), expand("related_to", fan_out=12))
    assert (len(crowded.nodes), cuts(crowded)) == (6, [(2, "nodes", 7)])
    monkeypatch.setattr(queries, "MAX_SUBGRAPH_EDGES", 2)
    assert (2, "edges", 3) in cuts(ask(constructive, seed("hub"), expand("related_to", fan_out=5)))


def test_time_that_is_over_ends_following_but_not_filtering(
    constructive: ConstructiveService, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids
    monkeypatch.setattr(queries._Progress, "is_late", property(lambda _: True))
    found = ask(
        constructive,
        seed("Ada Lovelace"),
        expand("related_to", hops=3),
        seed("Thames"),
        {"step": "limit", "nodes": 1},
    )
    assert names(found) == ["Ada Lovelace"]
    assert [each[:2] for each in cuts(found)] == [(2, "time"), (3, "time")]


def test_a_limit_counts_only_the_kinds_it_names(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    found = ask(
        constructive,
        seed("London"),
        expand("appears_in", "related_to"),
        {"step": "limit", "nodes": 1, "kinds": ["passage"]},
    )
    assert [node.kind for node in found.nodes].count("passage") == 1
    assert [node.kind for node in found.nodes].count("concept") > 1
    assert cuts(found) == [(3, "limit", 1)]


def test_what_is_not_there_is_not_found(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    with pytest.raises(NotFound, match="no concept fits 'zzyzx'"):
        ask(constructive, seed("zzyzx"))
    with pytest.raises(NotFound, match="no concept fits 'deadbeef'"):
        ask(constructive, seed("deadbeef"))
    with pytest.raises(NotFound, match="there is no concept"):
        ask(constructive, seed("0" * 32))
    with pytest.raises(NotFound, match="there is no source"):
        ask(constructive, seed("0" * 32, "source"))
    with pytest.raises(NotFound, match="kg ontologies"):
        ask(constructive, seed("London"), ontology="gone")
    store_document(kg.graph, replace(record("dated.md", ["Dated."]), metadata=json.dumps({"year": 2020})))
    with pytest.raises(InvalidInput, match="the nearest: 'year'"):
        ask(constructive, seed("London"), {"step": "filter", "where": ["yeer>3000"]})


def test_nothing_of_another_ontology_is_seen(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    store_concepts(kg.graph, record("private.md", ["London is secret."], ontology="private"), {0: ["London"]})
    everywhere = ask(constructive, seed("London"), expand(*ALL, hops=3))
    assert "private.md" in names(everywhere)
    scoped = ask(constructive, seed("London"), expand(*ALL, hops=3), ontology="notes")
    assert not any("private" in each for each in names(scoped))
    with pytest.raises(InvalidInput, match="in the ontology 'notes', which the query does not see"):
        ask(constructive, seed(ids["London"]), ontology="private")
    with pytest.raises(InvalidInput, match="in the ontology 'private', which the query does not see"):
        ask(constructive, seed("private/private.md#0", "source"), ontology=["notes"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed("notes/lives.md#0", "source"), documents=["notes/a.md"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed(ids["London"]), documents=["notes/a.md"])


PLANNED = sorted(
    each for each in STATEMENTS if each.startswith("constructive/") or each == "relations/search_in_documents"
)


@pytest.mark.parametrize("name", PLANNED)
def test_each_statement_begins_at_an_index_and_scans_nothing(
    name: str, graph: Graph, driver: neo4j.Driver
) -> None:
    assert graph  # emptied: plans depend on how many nodes there are
    text = STATEMENTS[name]
    with driver.session() as session:
        planned = session.run(cast("LiteralString", explain(text)), explained_with(text))
        plan = planned.consume().plan
    operators = [*operators_of(plan)]
    assert [each for each in operators if "Scan" in each or "Cartesian" in each] == [], plan
    assert any("IndexSeek" in each for each in operators)


def operators_of(plan: Any) -> Iterator[str]:
    yield plan["operatorType"]
    for child in plan.get("children", ()):
        yield from operators_of(child)
