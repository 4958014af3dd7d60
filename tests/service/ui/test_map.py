import json
from dataclasses import replace

import httpx
import neo4j
import pytest
from playwright.sync_api import Page, expect

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.service.ui.test_pages import shown, words
from tests.support.many_vectors import give_vectors
from tests.support.records import record

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


def test_without_scripts_its_groups_are_a_list(
    http: httpx.Client, graph: Graph, driver: neo4j.Driver
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


def test_ontology_without_documents_has_no_map(http: httpx.Client) -> None:
    assert "No documents yet" in words(shown(http, "/ui/map").xpath("//p[@class='nothing']"))[0]
    assert http.get("/ui/map?ontology=notes").status_code == 404
