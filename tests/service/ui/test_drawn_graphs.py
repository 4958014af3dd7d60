from pathlib import Path

import neo4j
import pytest
from playwright.sync_api import Page, expect

from kg_api.graph.client import Graph
from tests.service.ui.test_in_browser import PICTURES
from tests.support.concept_graph import BEES, embed_concepts, store_concepts, store_lives
from tests.support.records import record

OVERLAPS = """box => {
  const labels = box._cyreg.cy.nodes()
    .map(each => each.renderedBoundingBox({ includeNodes: false, includeEdges: false }));
  const meet = (a, b) => a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;
  return labels.flatMap((a, at) => labels.slice(at + 1).filter(b => meet(a, b)).map(b => [a, b]));
}"""
"""Pairs of overlapping labels."""
HAS = "(box, key) => box._cyreg.cy.getElementById(key).nonempty()"
SOURCES = [each.source_id for each in record("bees.md", BEES).sources]

pytestmark = pytest.mark.usefixtures("http")


def test_concept_paths_are_drawn_and_listed(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store_lives(graph, driver)
    page.goto(f"/ui/concepts/{ids['Ada Lovelace']}?to=Thames")
    ways = page.locator(".graph[aria-label^='Paths from Ada Lovelace to Thames']")
    expect(ways).to_have_attribute("data-drawn", "4")
    steps = page.locator("ol.listed > li").first.locator("a").all_inner_texts()
    assert steps == ["Ada Lovelace", "Analytical Engine", "London", "Thames"]


@pytest.mark.parametrize("width", [1280, 390])
def test_concept_graph_matches_its_list(page: Page, graph: Graph, driver: neo4j.Driver, width: int) -> None:
    """The concepts around it have relationships too. Labels do not overlap."""
    own, others = ("Engine", [f"Number {at} of long names that nobodyhasevershortened" for at in range(18)])
    text = " ".join([own, *others])
    stated = [(own, "is beside", each) for each in others]
    stated.append((others[0], "leads to", "Nowhere"))
    made = record("many.md", [text, f"{others[0]} Nowhere"])
    ids = store_concepts(
        graph, made, {0: [own, *others], 1: [others[0], "Nowhere"]}, {0: stated[:-1], 1: stated[-1:]}
    )
    embed_concepts(driver)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/ui/concepts/{ids[own]}")
    drawing = page.locator("[data-graph][data-drawn]")
    expect(drawing).to_have_attribute("data-drawn", str(1 + len(others)))
    drawn = drawing.evaluate("box => box._cyreg.cy.nodes().map(each => each.id())")
    links = page.locator("ul.listed a").evaluate_all("each => each.map(one => one.pathname.split('/').pop())")
    assert set(drawn) == {ids[own], *links}
    assert drawing.evaluate(OVERLAPS) == []
    if PICTURES is not None:
        drawing.screenshot(path=Path(PICTURES) / f"related-{width}.png")


def test_a_node_that_is_clicked_is_the_centre(page: Page, ids: dict[str, str]) -> None:
    assert ids
    page.goto(f"/ui/graph/{SOURCES[1]}")
    drawing = page.locator("[data-graph][data-drawn]")
    expect(drawing).to_have_count(1)
    place = drawing.evaluate("(box, key) => box._cyreg.cy.getElementById(key).renderedPosition()", SOURCES[2])
    drawing.click(position=place)
    expect(page).to_have_url(f"/ui/graph/{SOURCES[2]}")


def test_double_click_adds_neighbours(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store_lives(graph, driver)
    page.goto(f"/ui/concepts/{ids['Ada Lovelace']}")
    drawing = page.locator("[data-graph][data-drawn]")
    expect(drawing).to_have_count(1)
    assert not drawing.evaluate(HAS, ids["London"])
    place = drawing.evaluate(
        "(box, key) => box._cyreg.cy.getElementById(key).renderedPosition()", ids["Analytical Engine"]
    )
    drawing.dblclick(position=place)
    page.wait_for_function(f"key => ({HAS})(document.querySelector('[data-graph]'), key)", arg=ids["London"])
    expect(page).to_have_url(f"/ui/concepts/{ids['Ada Lovelace']}")
