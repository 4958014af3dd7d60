from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.concepts.relations import RelationshipSearcher
from kg_api.discovery import constructive as queries
from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput, NotFound, TookTooLong
from kg_api.graph import client, relation_search, traversal
from kg_api.graph.client import Graph, limit_time
from kg_api.graph.document_writes import store_document
from kg_api.graph.images import hold_blobs
from kg_api.graph.relation_search import read_relations
from kg_api.graph.statements import statement, together
from kg_api.schemas.base import concept_id
from kg_api.schemas.concepts import RelationshipSearch
from kg_api.schemas.constructive import Subgraph, SubgraphSource
from tests.graph.test_kinds import pictured
from tests.support.concept_graph import ADA, store_concepts, store_lives
from tests.support.concepts import found, quote
from tests.support.constructive import ALL, Step, ask, cuts, expand, name, names, seed, triples
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record
from tests.support.running import wait_until


def test_expand_follows_relationships_to_limit_with_quotes(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    found = ask(constructive, seed("Ada Lovelace"), expand("related_to", hops=2))
    assert names(found) == ["Ada Lovelace", "Analytical Engine", "London", "Charles Babbage"]
    assert triples(found) == {
        ("Ada Lovelace", "wrote about", "Analytical Engine"),
        ("Charles Babbage", "designed", "Analytical Engine"),
        ("Analytical Engine", "designed in", "London"),
    }
    first = found.edges[0]
    (quote,) = first.quotes
    assert (quote.quote, quote.start, quote.end) == (ADA[:-1], 0, len(ADA) - 1)
    assert (first.sources, quote.document, quote.paragraph, first.steps) == (1, "lives.md", 0, [2])
    ada, engine, *_ = found.nodes
    assert [(way.hops, way.along, way.via) for way in ada.reached] == [(0, None, None)]
    assert [(way.step, way.hops, way.along, way.via) for way in engine.reached] == [
        (2, 1, "related_to", ids["Ada Lovelace"])
    ]
    assert [(each.step, each.added, each.nodes, each.edges) for each in found.steps] == [
        ("seed", 1, 1, 0),
        ("expand", 3, 4, 3),
    ]
    assert (cuts(found), found.degraded, found.note) == ([], [], None)


@pytest.mark.parametrize(
    ("more", "reached"),
    [
        ({"direction": "out"}, {"London"}),
        ({"direction": "in"}, {"Ada Lovelace", "Charles Babbage"}),
        ({"direction": "both"}, {"London", "Ada Lovelace", "Charles Babbage"}),
        ({"types": ["Wrote About"]}, {"Ada Lovelace"}),
        ({"types": ["designed"], "direction": "out"}, set[str]()),
        ({"types": ["designed", "designed in"]}, {"London", "Charles Babbage"}),
    ],
)
def test_only_some_directions_and_types(
    constructive: ConstructiveService, ids: dict[str, str], more: dict[str, Any], reached: set[str]
) -> None:
    found = ask(constructive, seed(ids["Analytical Engine"]), expand("related_to", **more))
    assert {*names(found)} - {"Analytical Engine"} == reached


def test_traverse_concepts_passages_documents_and_neighbours(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    found = ask(constructive, seed("thames"), expand("appears_in", "part_of", direction="out", hops=2))
    assert names(found) == ["Thames", "lives.md#5", "lives.md"]
    assert triples(found) == {("Thames", "appears in", "lives.md#5"), ("lives.md#5", "part of", "lives.md")}
    (quote,) = found.edges[0].quotes
    passage = found.nodes[1]
    assert isinstance(passage, SubgraphSource)
    begin = quote.start - passage.source.start if quote.start else 0
    assert passage.source.full_text[begin:].startswith(quote.quote)
    beside = ask(constructive, seed("notes/lives.md#5", "source"), expand("next_to"))
    assert names(beside) == ["lives.md#5", "lives.md#4", "lives.md#6"]
    behind = ask(constructive, seed("notes/lives.md#5", "source"), expand("next_to", direction="out"))
    assert names(behind) == ["lives.md#5", "lives.md#6"]
    first = ask(
        constructive,
        seed("notes/lives.md#5", "source"),
        expand("part_of", direction="out"),
        expand("part_of", direction="in", fan_out=2),
    )
    assert names(first) == ["lives.md#5", "lives.md", "lives.md#0", "lives.md#1"]
    assert cuts(first) == [(3, "fan_out", 5)]


def test_passages_that_text_finds_lead_to_their_concepts(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    found = ask(
        constructive,
        seed("the Thames", "text", mode="text", limit=1),
        expand("appears_in", direction="in"),
        expand("related_to", direction="in"),
    )
    assert names(found) == ["lives.md#5", "Thames", "London", "Analytical Engine"]


def test_cycle_returns_each_node_once_with_paths(kg: Kg, constructive: ConstructiveService) -> None:
    text = "alpha beta gamma go round."
    ring = {0: [("alpha", "to", "beta"), ("beta", "to", "gamma"), ("gamma", "to", "alpha")]}
    store_concepts(kg.graph, record("ring.md", [text]), {0: ["alpha", "beta", "gamma"]}, ring)
    found = ask(constructive, seed("alpha"), expand("related_to", "appears_in", hops=4))
    assert sorted(names(found)) == ["alpha", "beta", "gamma", "ring.md#0"]
    assert len(found.edges) == 6
    passage = next(node for node in found.nodes if node.kind == "passage")
    assert [way.hops for way in passage.reached] == [1, 2, 2]
    assert names(found)[0] == "alpha"
    assert found.nodes[0].reached[0].hops == 0


def test_filter_keeps_matching_documents_and_their_statements(
    kg: Kg, driver: neo4j.Driver, constructive: ConstructiveService
) -> None:
    store_lives(kg.graph, driver)
    other = replace(record("more.md", [ADA, "Thames and London."]), metadata='{"year": 2020}')
    store_concepts(
        kg.graph,
        other,
        {0: ["Ada Lovelace", "Analytical Engine"], 1: ["Thames"]},
        {0: [("Ada Lovelace", "wrote about", "Analytical Engine")]},
    )
    steps = [seed("Ada Lovelace"), expand("related_to", "appears_in", hops=2)]
    whole = ask(constructive, *steps)
    assert next(each.sources for each in whole.edges if each.type == "wrote about") == 2
    found = ask(constructive, *steps, {"step": "filter", "where": ["year>=2020"]})
    assert sorted(names(found)) == ["Ada Lovelace", "Analytical Engine", "more.md#0"]
    stated = next(each for each in found.edges if each.type == "wrote about")
    assert (stated.sources, [each.document for each in stated.quotes]) == (1, ["more.md"])
    assert cuts(found) == [(3, "filter", found.steps[2].removed)]
    scoped = ask(constructive, *steps, where=["year>=2020"])
    assert sorted(names(scoped)) == sorted(names(found))
    assert next(each.sources for each in scoped.edges if each.type == "wrote about") == 1
    named = ask(constructive, *steps, {"step": "filter", "documents": ["notes/more.md"]})
    assert sorted(names(named)) == sorted(names(found))
    kinds = ask(constructive, *steps, {"step": "filter", "kinds": ["passage"]})
    assert {node.kind for node in kinds.nodes} == {"passage"}
    assert kinds.edges == []


def test_orders(constructive: ConstructiveService, ids: dict[str, str]) -> None:
    assert ids
    steps = [seed("Ada Lovelace"), expand("related_to", hops=3)]
    by_edges = ask(constructive, *steps, {"step": "rank", "by": "connections"}, {"step": "limit", "nodes": 1})
    assert (names(by_edges), by_edges.nodes[0].score) == (["Analytical Engine"], 3.0)
    walked = ask(constructive, *steps, {"step": "rank", "by": "pagerank"})
    assert names(walked)[-1] == "Thames"
    like = ask(constructive, *steps, {"step": "rank", "by": "text", "text": "Thames"})
    assert names(like)[0] == "Thames"
    assert like.nodes[0].similarity is not None
    passages = ask(
        constructive,
        seed("topic7", "text", limit=5),
        expand("part_of", direction="out"),
        {"step": "rank", "by": "text"},
    )
    first = passages.nodes[0]
    assert (first.kind, name(first)) == ("passage", "a.md#7")
    assert "a.md" in names(passages)[:2]


def test_relationships_are_seeds_with_both_ends(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    kg.work()
    found = ask(constructive, seed("who designed the engine", "relationship", limit=1))
    assert len(found.nodes) == 2
    assert len(found.edges) == 1
    assert found.edges[0].quotes
    assert {node.id for node in found.nodes} <= {*ids.values()}
    none = ask(constructive, seed("who designed the engine", "relationship"), documents=["notes/a.md"])
    assert none.nodes == []
    assert none.note is not None
    assert "no seed" in none.note


def test_image_seed_leads_to_surrounding_passages(kg: Kg, constructive: ConstructiveService) -> None:
    hold_blobs(kg.graph, ["0" * 64])
    made = pictured(record("boats.md", ["A harbour.", "![red boat](b.png)", "Its boats are red."]), 1)
    store_document(kg.graph, made)
    kg.work()
    found = ask(constructive, seed("notes/boats.md#1", "image"), expand("next_to"))
    assert [node.kind for node in found.nodes] == ["image", "passage", "passage"]
    picture = found.nodes[0]
    assert isinstance(picture, SubgraphSource)
    assert picture.source.image is not None
    by_words = ask(constructive, seed("red boat", "text", kinds=["image"]))
    assert [node.kind for node in by_words.nodes] == ["image"]
    with pytest.raises(InvalidInput, match=r"step 1: .* is a passage, not an image. Seed it by 'source'"):
        ask(constructive, seed("notes/boats.md#0", "image"))


def test_exact_name_precedes_other_names_as_seed(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    text = "The Thames Barrier is a barrier."
    barrier = found("Thames Barrier", quote(text, "Thames Barrier"), search_terms=("Thames",))
    other = store_concepts(kg.graph, record("barrier.md", [text]), {0: [barrier]})
    assert [node.id for node in ask(constructive, seed("thames")).nodes] == [ids["Thames"]]
    assert [node.id for node in ask(constructive, seed(ids["Thames"][:8])).nodes] == [ids["Thames"]]
    assert [node.id for node in ask(constructive, seed("Thames Barrier")).nodes] == [other["Thames Barrier"]]


def test_phrase_seed_reports_the_chosen_concepts(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    step = seed("a mechanical computer", limit=1)

    def matches() -> bool:
        with suppress(NotFound):
            return bool(ask(constructive, step).nodes)
        return False

    wait_until(matches, 10)  # the space is calibrated in the background
    found = ask(constructive, step)
    assert [node.id for node in found.nodes] == [ids["Analytical Engine"]]
    assert "'a mechanical computer'" in found.degraded[0].effect


def test_empty_filter_reports_and_later_steps_continue(
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
    assert found.note == "step 2 (filter) left nothing of 1 node. Request less in this step"
    gone = ask(constructive, seed("Thames"), {"step": "filter", "where": ["document=none.md"]})
    assert gone.nodes == []
    assert "no document fits the conditions of the filter" in [each.effect for each in gone.degraded]
    assert gone.note == found.note


def test_omitted_edges_of_a_hub_are_counted(
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


def test_time_limit_stops_expansion_but_not_filters(
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


def test_unknown_seed_or_field_is_an_error(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    with pytest.raises(NotFound, match="no concept matches 'zzyzx'"):
        ask(constructive, seed("zzyzx"))
    with pytest.raises(NotFound, match="no concept matches 'deadbeef'"):
        ask(constructive, seed("deadbeef"))
    with pytest.raises(NotFound, match=r"concept .* not found"):
        ask(constructive, seed("0" * 32))
    with pytest.raises(NotFound, match=r"source .* not found"):
        ask(constructive, seed("0" * 32, "source"))
    with pytest.raises(NotFound, match="kg ontologies"):
        ask(constructive, seed("London"), ontology="gone")
    store_document(kg.graph, replace(record("dated.md", ["Dated."]), metadata=json.dumps({"year": 2020})))
    with pytest.raises(InvalidInput, match="Did you mean 'year'"):
        ask(constructive, seed("London"), {"step": "filter", "where": ["yeer>3000"]})


def test_nothing_of_another_ontology_is_seen(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    store_concepts(kg.graph, record("private.md", ["London is secret."], ontology="private"), {0: ["London"]})
    everywhere = ask(constructive, seed("London"), expand(*ALL, hops=3))
    assert "private.md" in names(everywhere)
    scoped = ask(constructive, seed("London"), expand(*ALL, hops=3), ontology="notes")
    assert not any("private" in each for each in names(scoped))
    with pytest.raises(InvalidInput, match="in the ontology 'notes', which this query does not include"):
        ask(constructive, seed(ids["London"]), ontology="private")
    with pytest.raises(InvalidInput, match="in the ontology 'private', which this query does not include"):
        ask(constructive, seed("private/private.md#0", "source"), ontology=["notes"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed("notes/lives.md#0", "source"), documents=["notes/a.md"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed(ids["London"]), documents=["notes/a.md"])


USES = {0: [("alpha", "uses", "beta")]}


@pytest.mark.parametrize(
    "step", [{"where": ["team=x"]}, {"documents": ["b.md"]}, {"documents": ["a.md", "b.md"]}]
)
def test_filter_step_hides_documents_outside_the_query(
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


def test_accepted_links_precede_stated_relationships(kg: Kg, driver: neo4j.Driver) -> None:
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


SPOKES = 6


@pytest.fixture
def wheel(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> Kg:
    """Store a hub with a relationship to each spoke, and use limits that are too low for it."""
    store_concepts(kg.graph, record("long.md", ["Nothing."] * 3 + ["The hub."]), {3: ["hub"]})
    for number in range(SPOKES):
        spoke = f"spoke{number}"
        made = record(f"{number}.md", [f"The hub has {spoke}.", "Nothing."])
        store_concepts(kg.graph, made, {0: ["hub", spoke]}, {0: [("hub", "has", spoke)]})
    monkeypatch.setattr(traversal, "SCANNED", 2)
    return kg


def test_query_reports_skipped_sources_of_selected_documents(
    wheel: Kg, constructive: ConstructiveService
) -> None:
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
        InvalidInput, match=r"was not found in .* did not read all of their evidence. Request fewer"
    ):
        ask(constructive, seed("hub"), documents=["long.md"])


def test_all_stating_sources_of_a_hub_are_counted(
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


MISSPELT = "no relationship is of a type 'designd' (did you mean 'designed' or 'designed in'?)"


def test_unknown_type_note_suggests_the_nearest(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    follow = expand("related_to", types=["Wrote About", "designd"])
    found = ask(constructive, seed(ids["Analytical Engine"]), follow)
    assert "Ada Lovelace" in names(found)
    assert [each.effect for each in found.degraded] == [MISSPELT]
    known = ask(constructive, seed(ids["Analytical Engine"]), expand("related_to", types=["WROTE about"]))
    assert known.degraded == []
    nothing = ask(constructive, seed(ids["London"]), expand("related_to", types=["zzz"]), ontology="notes")
    assert [each.effect for each in nothing.degraded] == ["no relationship is of a type 'zzz'"]
    asked = RelationshipSearch(query_text="who designed the engine", types=["designd"])
    hits = RelationshipSearcher(kg.graph, kg.spaces).search(asked)
    assert MISSPELT in [each.effect for each in hits.degraded]


def test_phrase_seed_uses_only_visible_documents(kg: Kg, constructive: ConstructiveService) -> None:
    for document, label in (("a.md", "generator expressions"), ("b.md", "generator functions")):
        store_concepts(kg.graph, record(document, [f"The {label} are here."]), {0: [label]})
    (told,) = [each.effect for each in ask(constructive, seed("generator")).degraded]
    assert "2 concepts" in told
    found = ask(constructive, seed("generator"), documents=["b.md"])
    assert names(found) == ["generator functions"]
    effects = [each.effect for each in found.degraded]
    assert effects == [
        "no concept has the name 'generator'. kg used 1 concept that it matches: 'generator functions'"
    ]
    store_concepts(kg.graph, record("c.md", ["Nothing of it."]), {})
    with pytest.raises(NotFound, match=r"document 'd\.md' not found"):
        ask(constructive, seed("generator"), documents=["d.md"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed("generator"), documents=["c.md"])


def test_unknown_document_in_subgraph_is_not_found(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    by_text = seed("the Thames", "text")
    with pytest.raises(NotFound, match=r"document 'none\.md' not found"):
        ask(constructive, by_text, documents=["none.md"])
    with pytest.raises(NotFound, match=r"document 'none\.md' not found"):
        ask(constructive, seed("Thames"), {"step": "filter", "documents": ["none.md"]})
    within = ask(constructive, by_text | {"where": ["document=none.md"]})
    assert within.note == "no seed was found. Try other words or filters, or mode 'vector' or 'text'"
    assert "no document fits the conditions of the filter" in [each.effect for each in within.degraded]


ENDLESS = "UNWIND range(1, 20000000000) AS n WITH n WHERE n % 7 = 8 RETURN n"
GIVEN, WITHIN = 3, 8
"""Time limit for the query, and for the response on a busy machine, in seconds."""

Slow = Callable[[str], None]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    def make(name: str) -> None:
        def one(asked: str, space: str) -> str:
            return ENDLESS if asked == name else statement(asked, space)  # pyright: ignore[reportArgumentType]

        def several(*asked: tuple[str, str]) -> str:
            return ENDLESS if name in (each for each, _ in asked) else together(*asked)

        monkeypatch.setattr(client, "statement", one)
        monkeypatch.setattr(client, "together", several)

    return make


def test_slow_hop_returns_partial_filtered_result(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow
) -> None:
    assert ids
    slow("constructive/sources_of_concepts")
    begun = time.monotonic()
    found = ask(
        constructive,
        seed("Ada Lovelace"),
        expand("related_to", "appears_in", hops=2),
        seed("Thames"),
        {"step": "filter", "kinds": ["concept"]},
        {"step": "rank", "by": "pagerank"},
        seconds=GIVEN,
    )
    assert time.monotonic() - begun < WITHIN
    assert {*names(found)} == {"Ada Lovelace", "Analytical Engine"}
    assert len(found.edges) == 1
    assert [each[:2] for each in cuts(found)] == [(2, "time"), (2, "time"), (3, "time")]
    late = [cut.effect for step in found.steps for cut in step.cut]
    assert late[:2] == [
        "not all edges followed: the query's 3 s were over",
        "1 of 2 hops followed: the query's 3 s were over",
    ]


def test_slow_seed_ends_with_an_error(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow
) -> None:
    assert ids
    slow("relations/search_by_vector")
    begun = time.monotonic()
    slow_seed = seed("the Thames", "relationship")
    found = ask(constructive, seed("Thames"), slow_seed, expand("related_to"), seconds=GIVEN)
    assert time.monotonic() - begun < WITHIN
    assert names(found) == ["Thames"]
    assert [each[:2] for each in cuts(found)] == [(2, "time"), (3, "time")]
    first = ask(constructive, slow_seed, seconds=1)
    assert first.nodes == []
    assert first.note == "the time limit ended before a seed was found. Raise seconds, or request less"


def test_slow_ranking_keeps_order_and_is_reported(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids
    slow("constructive/nearness_of_concepts")
    monkeypatch.setattr(client, "SEARCH_SECONDS", 0.5)
    found = ask(constructive, seed("Ada Lovelace"), {"step": "rank", "by": "text", "text": "engine"})
    assert names(found) == ["Ada Lovelace"]
    (cut,) = found.steps[1].cut
    assert cut.by == "time"
    assert cut.effect.startswith("not ranked, the order is the one before: Neo4j at")


def test_every_statement_has_a_time_limit(
    constructive: ConstructiveService, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids
    limits = list[tuple[str, float | None]]()
    real: Any = Graph._read  # pyright: ignore[reportPrivateUsage]

    def noting(graph: Graph, query: neo4j.Query, parameters: dict[str, Any]) -> Any:
        if threading.current_thread() is threading.main_thread():  # others calibrate a model meanwhile
            limits.append((query.text, query.timeout))
        return real(graph, query, parameters)

    monkeypatch.setattr(Graph, "_read", noting)
    ask(
        constructive,
        seed("London"),
        seed("who designed the engine", "relationship"),
        seed("the Thames", "text"),
        expand(*ALL, hops=2, types=["designed"]),
        {"step": "filter", "where": ["document=lives.md"]},
        {"step": "rank", "by": "text"},
        where=["document=lives.md"],
        seconds=7,
    )
    assert len(limits) > 10
    most = 7 + client.SEARCH_SECONDS
    assert [each for each, limit in limits if limit is None or not 0 < limit <= most] == []


def test_expired_limit_stops_queries_and_bounds_inner_limits(graph: Graph) -> None:
    with limit_time(time.monotonic() - 1), pytest.raises(TookTooLong):
        graph.read("ontologies/names")
    with limit_time(time.monotonic() - 1), limit_time(time.monotonic() + 9), pytest.raises(TookTooLong):
        graph.read("ontologies/names")
    assert graph.read("ontologies/names") == []
