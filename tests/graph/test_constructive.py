import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.discovery import constructive as queries
from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput, NotFound, TookTooLong
from kg_api.graph import client, traversal
from kg_api.graph.client import Graph, limit_time
from kg_api.graph.document_writes import store_document
from kg_api.graph.statements import build_statement, combine_reads
from kg_api.schemas.concepts import ExtractedRelation
from kg_api.schemas.constructive import Subgraph, SubgraphSource
from tests.support.concept_graph import ADA, store_concepts, store_lives
from tests.support.concepts import extraction, quote, write
from tests.support.concepts import found as concept
from tests.support.constructive import ALL, Step, ask, cuts, expand, name, names, seed, triples
from tests.support.kg import Kg
from tests.support.records import record


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


def test_best_proven_evidence_comes_first(kg: Kg, constructive: ConstructiveService) -> None:
    made = record("owls.md", [f"alpha uses beta, number{at}." for at in range(4)])
    store_document(kg.graph, made)
    for source, confidence in zip(made.sources, (1.0, 0.6, 0.9, 0.8), strict=True):
        proof = quote(source.full_text, "alpha")
        alpha = concept("alpha", *([proof] if source.paragraph else []), confidence=confidence)
        others = concept("beta", proof, confidence=0.7), concept("gamma")
        uses = ExtractedRelation("alpha", "uses", "beta", confidence)
        write(kg.graph, extraction(made, source.paragraph, alpha, *others, relations=(uses,)))
    found = ask(constructive, seed("alpha"), expand("appears_in", direction="out", fan_out=3))
    assert names(found) == ["alpha", "owls.md#2", "owls.md#3", "owls.md#1"]
    found = ask(constructive, seed("notes/owls.md#1", "source"), expand("appears_in", fan_out=2))
    assert names(found) == ["owls.md#1", "beta", "alpha"]
    steps: list[list[Step]] = [[], [{"step": "filter", "documents": ["owls.md"]}]]
    for more in steps:
        (edge,) = ask(constructive, seed("alpha"), expand("related_to"), *more).edges
        assert (edge.sources, [each.paragraph for each in edge.quotes]) == (4, [0, 2, 3])


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


def told(found: Subgraph, step: int) -> list[str]:
    return [by for at, by, _ in cuts(found) if at == step]


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


def test_seed_by_label_precedes_alias(kg: Kg, constructive: ConstructiveService) -> None:
    engine = concept("Analytical Engine", search_terms=("Mill",))
    store_concepts(kg.graph, record("mill.md", ["The Mill turns."]), {0: [engine, "Mill"]})
    assert names(ask(constructive, seed("Mill"))) == ["Mill"]


ENDLESS = "UNWIND range(1, 20000000000) AS n WITH n WHERE n % 7 = 8 RETURN n"
GIVEN, WITHIN = 3, 8
"""Time limit for the query, and for the response on a busy machine, in seconds."""

Slow = Callable[[str], None]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    def make(name: str) -> None:
        def one(asked: str, space: str, *_: object) -> str:
            return ENDLESS if asked == name else build_statement(asked, space)  # pyright: ignore[reportArgumentType]

        def several(*asked: tuple[str, str]) -> str:
            return ENDLESS if name in (each for each, _ in asked) else combine_reads(*asked)

        monkeypatch.setattr(client, "build_statement", one)
        monkeypatch.setattr(client, "combine_reads", several)

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
