"""The page of what is around a passage, without scripts; it says what REST answers."""

from __future__ import annotations

import json

import httpx

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.ui.test_pages import shown, words
from tests.support.concept_graph import BEES
from tests.support.proposals import propose
from tests.support.records import record

SOURCES = [each.source_id for each in record("bees.md", BEES).sources]


def drawn_on(http: httpx.Client, path: str) -> tuple[list[list[str]], list[list[str]]]:
    """The nodes and edges that a page hands to its script."""
    (text,) = shown(http, path).xpath("//@data-source-graph")
    nodes, edges = json.loads(text)
    return nodes, edges


def test_a_passage_stands_among_its_neighbours_and_concepts(http: httpx.Client, ids: dict[str, str]) -> None:
    page = shown(http, f"/ui/graph/{SOURCES[1]}")
    assert words(page.xpath("//*[@id='beside']/li")) == BEES
    assert page.xpath("//a[@class='chip']/@href") == [f"/ui/concepts/{ids['waggle dance']}"]
    nodes, edges = drawn_on(http, f"/ui/graph/{SOURCES[1]}")
    shapes = {key: shape for key, _, shape, _ in nodes}
    assert shapes[SOURCES[1]] == "centre"
    assert {key for key, shape in shapes.items() if shape == "passage"} == {*SOURCES} - {SOURCES[1]}
    assert [SOURCES[1], ids["waggle dance"], "names"] in edges
    assert [SOURCES[2], ids["waggle dance"], "names"] in edges
    assert [SOURCES[0], SOURCES[1], "next"] in edges
    assert {end for each in edges for end in each[:2]} <= shapes.keys()


def test_what_somebody_linked_is_there_and_says_so(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    propose(kg, graph)
    (proposed,) = kg.proposals("notes", kind="source").proposals
    first, second = (each.source.source_id for each in proposed.ends)
    kg.accept_proposal(proposed.proposal_id)
    page = shown(http, f"/ui/graph/{first}")
    (line,) = page.xpath(f"//*[@id='elsewhere']/li[a/@href='/ui/graph/{second}']")
    assert "somebody linked the two" in words([line])[0]
    assert [first, second, "linked"] in drawn_on(http, f"/ui/graph/{first}")[1]


def test_it_is_reached_from_hits_and_from_reading(http: httpx.Client, ids: dict[str, str]) -> None:
    assert ids
    hit = shown(http, "/ui/search?q=waggle+dance").xpath("//li[@class='hit'][1]//a[.='Around it']/@href")
    page = shown(http, hit[0])
    (back,) = page.xpath("//*[@id='centre']//a[.='Read it there']/@href")
    assert hit[0] in shown(http, back).xpath("//a[.='Around it']/@href")
    (whole,) = shown(http, back).xpath("//a[.='as a graph']/@href")
    assert words(shown(http, whole).xpath("//*[@id='passages']/li/a")) == BEES


def test_what_is_nowhere_is_not_found(http: httpx.Client) -> None:
    assert http.get("/ui/graph/nothing.md").status_code == 404
