"""Pictures of what hangs together, in a real browser."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import neo4j
import pytest
from playwright.sync_api import Page, expect

from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import store_document
from tests.support.concept_graph import BEES, store_lives
from tests.support.many_vectors import give_vectors
from tests.support.records import record

MANY = 1000
SOURCES = [each.source_id for each in record("bees.md", BEES).sources]

pytestmark = pytest.mark.usefixtures("http")


def test_ways_from_concept_to_concept_are_drawn_beside_their_list(
    page: Page, graph: Graph, driver: neo4j.Driver
) -> None:
    ids = store_lives(graph, driver)
    page.goto(f"/ui/concepts/{ids['Ada Lovelace']}?to=Thames")
    ways = page.locator(".graph[aria-label^='The ways from Ada Lovelace to Thames']")
    expect(ways).to_have_attribute("data-drawn", "4")
    steps = page.locator("ol.listed > li").first.locator("a").all_inner_texts()
    assert steps == ["Ada Lovelace", "Analytical Engine", "London", "Thames"]


def test_one_walks_from_passage_to_passage(page: Page, ids: dict[str, str]) -> None:
    assert ids
    page.goto(f"/ui/graph/{SOURCES[0]}")
    expect(page.locator("[data-source-graph][data-drawn]")).to_have_count(1)
    page.locator("#beside a", has_text="waggle dance shows").click()
    expect(page).to_have_url(f"/ui/graph/{SOURCES[1]}")
    expect(page.locator("#centre blockquote")).to_have_text(BEES[1])
    page.locator("a", has_text="all of its document").click()
    expect(page.locator("[data-source-graph]")).to_have_attribute("data-drawn", str(len(BEES)))
    page.locator("#passages a").last.click()
    page.locator("a", has_text="Read it there").click()
    expect(page.locator(".passage.hit")).to_contain_text(BEES[-1])


def test_a_node_that_is_clicked_is_the_centre(page: Page, ids: dict[str, str]) -> None:
    assert ids
    page.goto(f"/ui/graph/{SOURCES[1]}")
    drawing = page.locator("[data-source-graph][data-drawn]")
    expect(drawing).to_have_count(1)
    place = drawing.evaluate("(box, key) => box._cyreg.cy.getElementById(key).renderedPosition()", SOURCES[2])
    drawing.click(position=place)
    expect(page).to_have_url(f"/ui/graph/{SOURCES[2]}")


def test_a_thousand_passages_are_drawn(
    page: Page, graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    """In well below the time that somebody waits for a page; how long it took is printed."""
    made = record("long.md", [f"Passage {at} of a long document." for at in range(MANY)])
    store_document(graph, made)
    give_vectors(driver, [each.source_id for each in made.sources])
    began = time.monotonic()
    page.goto(f"/ui/graph/{made.document_id}")
    drawing = page.locator("[data-source-graph]")
    expect(drawing).to_have_attribute("data-drawn", str(MANY))
    took = drawing.get_attribute("data-took")
    sys.stdout.write(f"{MANY} passages: {time.monotonic() - began:.1f} s, of which {took} ms drawing\n")
    drawing.screenshot(path=tmp_path / "thousand.png")
    expect(page.locator("#passages li")).to_have_count(MANY)
    expect(page.locator(".where")).to_contain_text("1,000 passages")
    edges = drawing.evaluate("box => box._cyreg.cy.edges('.near').length")
    assert edges >= MANY, "each is tied to those nearest to it"
