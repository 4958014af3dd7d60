from __future__ import annotations

import json
import re
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import neo4j
import pytest
from playwright.sync_api import Error, Page, Route, expect

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.service.ui.test_pages import shown, words
from tests.support.communities import detect
from tests.support.many_vectors import give_vectors
from tests.support.records import record

A_DOCUMENT = 1000
MOST_BYTES = 2_000_000
LEAST_WIDTH = 300
"""Pixels: some words on a line."""

pytestmark = pytest.mark.usefixtures("http")


def store(graph: Graph, driver: neo4j.Driver, *counts: int) -> None:
    ids = list[str]()
    for number, count in enumerate(counts):
        made = record(f"{number}.md", [f"Passage {at} of document {number}." for at in range(count)])
        store_document(graph, replace(made, metadata=json.dumps({"date": f"{2000 + number}-02"})))
        ids += [each.source_id for each in made.sources]
    give_vectors(driver, ids)


def open_map(page: Page, points: int, colour: str = "document") -> None:
    page.goto(f"/ui/map?ontology=notes&colour={colour}")
    expect(page.locator("#points")).to_have_attribute("data-drawn", str(points), timeout=60_000)


def drag_around_all(page: Page) -> None:
    box = page.locator("#points").bounding_box()
    assert box
    left, top, right, bottom = 1, 1, box["width"] - 2, box["height"] - 2
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    page.mouse.move(box["x"] + left, box["y"] + top)
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.up()


def test_passages_are_chosen_by_drawing_around_them(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 30, 10)
    open_map(page, 40)
    expect(page.locator("#legend button")).to_have_count(2)
    expect(page.locator("#legend button").first).to_contain_text("0.md")
    page.click("#select")
    drag_around_all(page)
    expect(page.locator("#points")).to_have_attribute("data-chosen", "40")
    expect(page.locator("#chosen h2")).to_have_text("40 passages")
    expect(page.locator("#chosen li")).to_have_count(40)
    page.locator("#chosen li a").first.click()
    expect(page.locator(".passage.hit")).to_contain_text("of document 0")


def test_map_text_explains_selection(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 3)
    open_map(page, 3)
    point_at(page, 0)
    told = page.locator("#pointed li")
    expect(told).to_contain_text("of document 0.")
    assert (told.bounding_box() or {})["width"] > LEAST_WIDTH
    expect(page.locator("#choosing")).to_contain_text(
        "click Select and drag around their points, or Shift+drag. By keyboard"
    )
    page.keyboard.down("Shift")
    drag_around_all(page)
    page.keyboard.up("Shift")
    expect(page.locator("#chosen h2")).to_have_text("3 passages")


def test_a_group_is_chosen_by_its_name(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 210, 10)
    open_map(page, 220, "date")
    expect(page.locator("#legend button").last).to_contain_text("2001")
    page.locator("#legend button").last.click()
    expect(page.locator("#chosen li")).to_have_count(10)
    page.locator("#legend button").first.click()
    expect(page.locator("#chosen h2")).to_have_text("210 passages, first 200")
    expect(page.locator("#chosen li")).to_have_count(200)


def test_map_works_by_keyboard(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 40)
    open_map(page, 40)
    page.locator("#points").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#points")).to_have_attribute("data-chosen", "40")
    expect(page.locator("#chosen")).to_be_focused()
    page.locator("#points").focus()
    for _ in range(12):
        page.keyboard.press("+")
    page.keyboard.press("Enter")
    expect(page.locator("#points")).not_to_have_attribute("data-chosen", "40")
    expect(page.locator("#chosen")).to_be_focused()
    page.locator("#points").focus()
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.locator("#points")).to_have_attribute("data-chosen", "40")


def point_at(page: Page, at: int) -> None:
    box = page.locator("#points").bounding_box()
    assert box
    x, y = page.evaluate("at => [across(at), down(at)]", at)
    page.mouse.move(box["x"] + x, box["y"] + y)


def test_colour_by_date_groups_years(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 3, 2)
    open_map(page, 5)
    page.get_by_label("Colour by").select_option("date")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#legend button")).to_have_text(["20003", "20012"])
    expect(page.locator("#by-group li")).to_have_text(["2000 1 document", "2001 1 document"])
    expect(page).to_have_url(re.compile("ontology=notes&colour=date"))


def test_late_response_does_not_replace_a_newer_one(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 2)
    held = list[Route]()

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    open_map(page, 2)
    page.route("**/ui/map/passages*", hold_first)
    point_at(page, 0)
    page.wait_for_timeout(400)
    point_at(page, 1)
    expect(page.locator("#pointed")).to_contain_text("of document 0.")
    with suppress(Error):  # it was given up
        held[0].fulfill(body="<p>An older one.</p>", content_type="text/html")
    page.wait_for_timeout(400)
    expect(page.locator("#pointed")).to_contain_text("of document 0.")
    expect(page.locator("#pointed")).not_to_contain_text("An older one.")


def test_failed_request_is_shown_and_keeps_focus(page: Page, graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, driver, 2)
    open_map(page, 2)
    failure = "<div class='problem'>Neo4j does not answer.</div>"
    page.route("**/ui/map/passages*", lambda each: each.fulfill(status=429, body=failure))
    page.locator("#points").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("Neo4j does not answer.")
    expect(page.locator("#points")).to_be_focused()


@pytest.mark.full
def test_very_many_passages_are_drawn(page: Page, graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> None:
    """How long it took is printed."""
    count, began = 20_000, time.monotonic()
    store(graph, driver, *[A_DOCUMENT] * (count // A_DOCUMENT))
    stored = time.monotonic()
    sizes = list[int]()
    page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
    open_map(page, count)
    drawn = time.monotonic()
    points = page.locator("#points")
    answered, took = points.get_attribute("data-answered"), points.get_attribute("data-took")
    page.click("#select")
    drag_around_all(page)
    expect(points).to_have_attribute("data-chosen", str(count))
    expect(page.locator("#chosen li")).to_have_count(200)
    page.screenshot(path=tmp_path / "map.png")
    sys.stdout.write(
        f"{count:,} points: stored in {stored - began:.1f} s, drawn after {drawn - stored:.1f} s: answered "
        f"in {answered} ms, drawn in {took} ms; {max(sizes):,} bytes\n"
    )
    assert max(sizes) < MOST_BYTES


def test_without_scripts_its_groups_are_a_list(
    http: httpx.Client, kg: KgClient, graph: Graph, driver: neo4j.Driver
) -> None:
    store(graph, driver, 3, 2)
    documents = shown(http, "/ui/map")
    assert words(documents.xpath("//h1")) == ["Map of notes"]
    assert words(documents.xpath("//section[@aria-labelledby='groups']//li/a[1]")) == ["0.md", "1.md"]
    years = shown(http, "/ui/map?ontology=notes&colour=date")
    assert words(years.xpath("//section[@aria-labelledby='groups']//li")) == [
        "2000 1 document",
        "2001 1 document",
    ]
    (first, _) = years.xpath("//section[@aria-labelledby='groups']//li/a/@href")
    assert words(shown(http, first).xpath("//tbody/tr/th/a")) == ["0.md"]
    none = shown(http, "/ui/map?ontology=notes&colour=community")
    assert words(none.xpath("//p[@class='nothing']")) == ["No communities in notes yet."]
    detect(kg, graph)
    communities = shown(http, "/ui/map?ontology=notes&colour=community")
    assert len(communities.xpath("//section[@aria-labelledby='groups']//li")) == 2


def test_ontology_without_documents_has_no_map(http: httpx.Client) -> None:
    assert "No documents yet" in words(shown(http, "/ui/map").xpath("//p[@class='nothing']"))[0]
    assert http.get("/ui/map?ontology=notes").status_code == 404
