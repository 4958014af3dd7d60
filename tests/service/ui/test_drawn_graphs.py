"""Pictures of what hangs together, in a real browser."""

from __future__ import annotations

import neo4j
import pytest
from playwright.sync_api import Page, expect

from kg_api.graph.database import Graph
from tests.support.concept_graph import store_lives

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


def test_ways_of_a_concept_that_has_no_neighbours_are_drawn_too(
    page: Page, graph: Graph, driver: neo4j.Driver
) -> None:
    """Concepts that only stand in the same passage; the sheet that cytoscape needs is on the page once."""
    ids = store_lives(graph, driver)
    page.goto(f"/ui/concepts/{ids['Herons']}?to=water")
    expect(page.locator(".graph[data-drawn='2']")).to_have_count(1)
    expect(page.locator("#__________cytoscape_stylesheet")).to_have_count(1)
