"""The pages in a real browser: their main tasks, by keyboard, on a phone, for everybody."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.concept_graph import BEES
from tests.support.records import record
from tests.support.running import Service

KNOWN = [
    *("document=", "ontology=", "title=", "format=", "uri=", "updated_at=", "updated_at>=", "updated_at<="),
    *("page=", "page>=", "page<=", "kind="),
]
SERIOUS = {"serious", "critical"}
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
FIRST_VISIT_BYTES = 300_000
PICTURES = Path(os.environ.get("KG_TEST_SCREENSHOTS") or Path(__file__).parents[3] / "build" / "screenshots")
PASSAGES = record("bees.md", BEES)
PASSAGE = PASSAGES.sources[1]

pytestmark = pytest.mark.usefixtures("http")


def pages(ids: dict[str, str]) -> dict[str, str]:
    """One of each kind, with something to show."""
    return {
        "start": "/ui/search",
        "hits": "/ui/search?q=waggle+dance",
        "judging": "/ui/search?q=waggle+dance&judging=1",
        "judged questions": "/ui/judgements",
        "ask": "/ui/ask?q=waggle+dance",
        "documents": "/ui/documents?ontology=notes",
        "concepts": "/ui/concepts?ontology=notes",
        "concept": f"/ui/concepts/{ids['waggle dance']}?to=Frisch",
        "deletion of a document": f"/ui/documents/{PASSAGES.document_id}/delete",
        "reading": f"/ui/read/{PASSAGES.document_id}?q=dance&at=1",
        "communities": "/ui/communities",
        "proposals": "/ui/proposals",
        "sign in": "/ui/login",
        "ontologies": "/ui/ontologies",
        "ontology": "/ui/ontologies/notes",
        "deletion of an ontology": "/ui/ontologies/notes/delete",
        "spaces": "/ui/spaces",
        "space": "/ui/spaces/default",
        "check of a space": "/ui/spaces/default/check",
        "around": f"/ui/graph/{PASSAGE.source_id}",
        "graph": f"/ui/graph/{PASSAGES.document_id}",
        "map": "/ui/map?ontology=notes",
        "evaluations": "/ui/evaluations",
        "evaluation": "/ui/evaluations/one/text",
        "compared evaluations": "/ui/evaluations/compare?name=text&name=hybrid",
        "how to evaluate": "/ui/evaluations?ontology=nothing",
        "help": "/ui/help",
        "jobs": "/ui/jobs",
        "nowhere": "/ui/search?q=a&where=colour",
    }


@pytest.mark.usefixtures("ids")
def test_hits_come_as_somebody_types_and_the_address_says_so(page: Page) -> None:
    page.goto("/ui/search")
    page.keyboard.type("waggle dance")
    expect(page.locator(".hit").first).to_contain_text("waggle dance")
    expect(page).to_have_url("/ui/search?q=waggle+dance")
    page.reload()
    expect(page.locator("#q")).to_have_value("waggle dance")
    expect(page.locator(".hit mark").first).to_have_text("waggle dance")


def test_what_narrows_down_keeps_what_was_typed(page: Page, http: httpx.Client) -> None:
    for name, author in (("a", "Ada"), ("b", "Ada"), ("c", "Bob")):
        body = {"ontology": "notes", "document": f"{name}.md", "text": f"The dance of {name}.\n"}
        assert http.post("/documents", json={**body, "metadata": {"author": author}}).status_code == 202
    page.goto("/ui/search?mode=text")
    page.keyboard.type("dance")
    page.locator("#facets a", has_text="Ada").click()
    expect(page.locator(".hit")).to_have_count(2)
    expect(page).to_have_url("/ui/search?q=dance&mode=text&where=author%3DAda")
    page.fill("#q", "the dance")
    expect(page.locator(".hit")).to_have_count(2)
    page.locator(".condition a").click()
    expect(page.locator(".hit")).to_have_count(3)
    expect(page.locator("#q")).to_have_value("the dance")
    expect(page.locator("#told")).to_have_text("3 hits")


def test_fields_are_offered_and_half_a_condition_waits(page: Page, http: httpx.Client) -> None:
    body = {"ontology": "notes", "document": "a.md", "text": "The dance.\n", "metadata": {"author": "Ada"}}
    assert http.post("/documents", json=body).status_code == 202
    page.goto("/ui/search?q=dance&mode=text")
    offered = page.locator("#fields option")
    expect(offered.first).to_have_attribute("value", "author=")
    values = offered.evaluate_all("each => each.map(one => one.value)")
    assert values == ["author=", *KNOWN]
    page.locator("details", has_text="How to write").locator("summary").click()
    expect(page.locator("details", has_text="Operators")).to_contain_text("title contains lease")
    page.get_by_label("only where").fill("author=")
    page.keyboard.press("Tab")
    page.wait_for_timeout(500)
    page.fill("#q", "the dance")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page).to_have_url("/ui/search?q=the+dance&mode=text")
    expect(page.locator("#problem")).to_be_empty()
    page.get_by_label("only where").fill("title=Yahoo!")
    assert page.get_by_label("only where").evaluate("each => each.checkValidity()")
    page.get_by_label("only where").fill("author=Bob")
    page.keyboard.press("Tab")
    expect(page.locator("#results")).to_contain_text("Nothing was found")


@pytest.mark.usefixtures("ids")
def test_search_and_read_by_keyboard_alone(page: Page) -> None:
    page.goto("/ui/search")
    page.keyboard.type("Frisch")
    page.keyboard.press("Enter")
    hit = page.locator(".hit h2 a").first
    expect(hit).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if hit.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".passage.hit")).to_contain_text("Karl von Frisch")
    expect(page.locator(".passage")).to_have_count(len(BEES))
    page.keyboard.press("Tab")
    expect(page.locator(".passage.hit .cite")).to_be_focused()


@pytest.mark.usefixtures("ids")
def test_search_and_read_without_scripts(browser: Browser, service: Service) -> None:
    context = browser.new_context(base_url=service.url, java_script_enabled=False)
    plain = context.new_page()
    plain.goto("/ui/search")
    plain.fill("#q", "Frisch")
    plain.press("#q", "Enter")
    plain.locator(".hit h2 a").first.click()
    expect(plain.locator(".passage.hit")).to_contain_text("Karl von Frisch")
    context.close()


def test_a_concept_is_walked_to_the_next(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/ui/concepts/{ids['waggle dance']}")
    expect(page.locator(".graph[data-drawn]")).to_have_attribute("data-drawn", "2")
    page.locator(".listed a", has_text="Karl von Frisch").click()
    expect(page.locator("h1")).to_have_text("Karl von Frisch")
    page.locator("figcaption a").first.click()
    expect(page.locator(".passage.hit")).to_contain_text("Karl von Frisch")


def test_files_are_added_and_each_tells_what_became_of_it(page: Page, tmp_path: Path) -> None:
    good, bad = tmp_path / "hive.md", tmp_path / "empty.pdf"
    good.write_text("# Hive\n\nBees live in a hive.\n", encoding="utf-8")
    bad.write_bytes(b"%PDF-1.7 broken")
    page.goto("/ui/documents")
    page.set_input_files("input[type=file]", [good, bad])
    page.fill("section input[name=ontology]", "notes")
    page.click("button.main")
    expect(page.locator(".taken li").nth(0)).to_contain_text("hive.md: created, 1 passage")
    expect(page.locator(".taken li").nth(1)).to_contain_text("empty.pdf: ")
    expect(page.locator("#list tbody tr")).to_have_count(1)


def test_jobs_are_followed_as_they_go(page: Page, http: httpx.Client) -> None:
    page.goto("/ui/jobs")
    expect(page.locator("#list")).to_contain_text("There are no jobs")
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    expect(page.locator("#list tbody tr")).to_contain_text("source embedding")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#list tbody tr")).to_contain_text("cancelled")


@pytest.mark.usefixtures("evaluations")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_for_everybody(page: Page, ids: dict[str, str], size: str, scheme: Any) -> None:
    """No serious finding of axe, nothing wider than the screen; pictures of the pages are kept."""
    show_as(page, size, scheme)
    for name, path in pages(ids).items():
        page.goto(path)
        page.wait_for_load_state("networkidle" if name != "jobs" else "load")
        keep_picture(page, name, scheme)
        see_that_it_is_for_everybody(page)


def show_as(page: Page, size: str, scheme: Any) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)


def keep_picture(page: Page, name: str, scheme: str) -> None:
    """Where people look at them after the run; git ignores the usual folder."""
    assert page.viewport_size
    called = f"{name.replace(' ', '-')}-{scheme}-{page.viewport_size['width']}.png"
    page.screenshot(path=PICTURES / called, full_page=True)


def see_that_it_is_for_everybody(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in SERIOUS] == [], (page.url, found)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url


@pytest.mark.usefixtures("ids")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_says_so_at_its_edge(page: Page, scheme: Any) -> None:
    show_as(page, "narrow", scheme)
    page.goto("/ui/ontologies")
    table = page.locator(".scrolling").first
    assert table.evaluate("each => each.scrollWidth > each.clientWidth")
    assert edge_of(page, table) != ground_of(page)
    table.evaluate("each => each.scrollLeft = each.scrollWidth")
    assert edge_of(page, table) == ground_of(page)


def edge_of(page: Page, table: Locator) -> tuple[int, ...]:
    """The colour at the right end of a table, above its last line."""
    box = table.bounding_box()
    assert box
    return colour_at(page, box["x"] + box["width"] - 2, box["y"] + box["height"] - 4)


def ground_of(page: Page) -> tuple[int, ...]:
    return colour_at(page, 2, 400)


def colour_at(page: Page, left: float, top: float) -> tuple[int, ...]:
    shot = page.screenshot(clip={"x": left, "y": top, "width": 1, "height": 1})
    return cast("tuple[int, ...]", Image.open(BytesIO(shot)).convert("RGB").getpixel((0, 0)))


@pytest.mark.usefixtures("ids")
def test_a_first_visit_is_small(page: Page) -> None:
    sizes = list[int]()
    page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
    page.goto("/ui/search?q=dance")
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < FIRST_VISIT_BYTES
    assert len(sizes) >= 4
