"""Constructive queries over a real database: each step, what it leaves out, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput
from kg_api.graph.document_writes import store_document
from kg_api.graph.images import hold_blobs
from kg_api.schemas.constructive import SubgraphSource
from tests.graph.test_kinds import pictured
from tests.support.concept_graph import ADA, store_concepts, store_lives
from tests.support.concepts import found, quote
from tests.support.constructive import ask, cuts, expand, name, names, seed, triples
from tests.support.kg import Kg
from tests.support.records import record


def test_relationships_are_followed_as_far_as_asked_with_what_proves_them(
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


def test_concepts_lead_to_passages_and_passages_to_documents_and_neighbours(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    found = ask(constructive, seed("thames"), expand("appears_in", "part_of", direction="out", hops=2))
    assert names(found) == ["Thames", "lives.md#5", "lives.md"]
    assert triples(found) == {
        ("Thames", "appears in", "lives.md#5"),
        ("lives.md#5", "part of", "lives.md"),
    }
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


def test_a_cycle_ends_and_a_node_is_given_once_with_its_ways(
    kg: Kg, constructive: ConstructiveService
) -> None:
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


def test_a_filter_keeps_nodes_of_documents_and_what_these_state(
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


def test_pictures_are_seeds_and_lead_to_the_passages_beside_them(
    kg: Kg, constructive: ConstructiveService
) -> None:
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
    with pytest.raises(InvalidInput, match=r"step 1: .* is a passage, no picture: seed it by 'source'"):
        ask(constructive, seed("notes/boats.md#0", "image"))


def test_a_name_means_the_concept_that_is_called_so_before_those_that_are_called_so_too(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    text = "The Thames Barrier is a barrier."
    barrier = found("Thames Barrier", quote(text, "Thames Barrier"), search_terms=("Thames",))
    other = store_concepts(kg.graph, record("barrier.md", [text]), {0: [barrier]})
    assert [node.id for node in ask(constructive, seed("thames")).nodes] == [ids["Thames"]]
    assert [node.id for node in ask(constructive, seed(ids["Thames"][:8])).nodes] == [ids["Thames"]]
    assert [node.id for node in ask(constructive, seed("Thames Barrier")).nodes] == [other["Thames Barrier"]]


def test_a_phrase_is_taken_for_the_concepts_that_fit_and_it_is_told(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    found = ask(constructive, seed("a mechanical computer", limit=1))
    assert [node.id for node in found.nodes] == [ids["Analytical Engine"]]
    assert "'a mechanical computer'" in found.degraded[0].effect
