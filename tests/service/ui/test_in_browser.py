import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from tests.support.concept_graph import BEES
from tests.support.records import record
from tests.support.running import Service

KNOWN = [
    *("document=", "ontology=", "title=", "format=", "uri=", "updated_at=", "updated_at>=", "updated_at<="),
    *("page=", "page>=", "page<=", "kind="),
]
SERIOUS = {"serious", "critical"}
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
OF_WIDTH_AND_COLOUR = ["color-contrast", "scrollable-region-focusable", "target-size"]
"""Rules of axe that can find more if the screen is narrow or the colours are dark."""
FIRST_VISIT_BYTES = 60_000
PICTURES = os.environ.get("KG_TEST_SCREENSHOTS")
"""Folder to save screenshots to. By default, they are not saved, because this takes half of the time."""
LATE = {
    *("start", "hits", "judging", "nowhere", "ask", "reading"),
    *("map", "evaluation", "compared evaluations"),
}
"""Pages that send more requests after they have been loaded. For the others, you do not have to wait for
an idle network (0.5 s)."""
PASSAGES = record("bees.md", BEES)
PASSAGE = PASSAGES.sources[1]
pytestmark = pytest.mark.usefixtures("http")


def pages(ids: dict[str, str]) -> dict[str, str]:
    return {
        "start": "/ui/search",
        "hits": "/ui/search?q=waggle+dance",
        "judging": "/ui/search?q=waggle+dance&judging=1",
        "ask": "/ui/ask?q=waggle+dance",
        "documents": "/ui/documents?ontology=notes",
        "concepts": "/ui/concepts?ontology=notes",
        "concept": f"/ui/concepts/{ids['waggle dance']}?to=Frisch",
        "change of a document": f"/ui/documents/change?documents={PASSAGES.document_id}",
        "reading": f"/ui/read/{PASSAGES.document_id}?q=dance&at=1",
        "communities": "/ui/communities",
        "proposals": "/ui/proposals",
        "sign in": "/ui/login",
        "ontologies": "/ui/ontologies",
        "ontology": "/ui/ontologies/notes",
        "deletion of an ontology": "/ui/ontologies/notes/delete",
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


def test_filters_keep_the_typed_query(page: Page, http: httpx.Client) -> None:
    for name, author in (("a", "Ada"), ("b", "Ada"), ("c", "Bob")):
        body = {"ontology": "notes", "document": f"{name}.md", "text": f"The dance of {name}.\n"}
        assert http.post("/documents", json={**body, "metadata": {"author": author}}).status_code == 202
    page.goto("/ui/search?mode=text")
    page.keyboard.type("dance")
    page.locator("#facets a", has_text="Ada").click()
    expect(page.locator(".hits .hit")).to_have_count(2)
    expect(page).to_have_url("/ui/search?q=dance&mode=text&where=author%3DAda")
    page.fill("#q", "the dance")
    expect(page.locator(".hits .hit")).to_have_count(2)
    page.locator(".condition a").click()
    expect(page.locator(".hits .hit")).to_have_count(3)
    expect(page.locator("#q")).to_have_value("the dance")
    expect(page.locator("#told")).to_contain_text("3 results · ")


def test_fields_are_offered_and_half_a_condition_waits(page: Page, http: httpx.Client) -> None:
    body = {"ontology": "notes", "document": "a.md", "text": "The dance.\n", "metadata": {"author": "Ada"}}
    assert http.post("/documents", json=body).status_code == 202
    page.goto("/ui/search?q=dance&mode=text")
    offered = page.locator("#fields option")
    expect(offered.first).to_have_attribute("value", "author=")
    values = offered.evaluate_all("each => each.map(one => one.value)")
    assert values == ["author=", *KNOWN]
    page.get_by_text("Filter syntax").click()
    expect(page.locator("details", has_text="Operators are")).to_contain_text("title contains lease")
    page.get_by_label("Filter", exact=True).fill("author=")
    page.keyboard.press("Tab")
    page.wait_for_timeout(500)
    page.fill("#q", "the dance")
    expect(page.locator(".hits .hit")).to_have_count(1)
    expect(page).to_have_url("/ui/search?q=the+dance&mode=text")
    expect(page.locator("#problem")).to_be_empty()
    page.get_by_label("Filter", exact=True).fill("title=Yahoo!")
    assert page.get_by_label("Filter", exact=True).evaluate("each => each.checkValidity()")
    page.get_by_label("Filter", exact=True).fill("author=Bob")
    page.keyboard.press("Tab")
    expect(page.locator("#results")).to_contain_text("No results")


def test_texts_have_their_own_direction(page: Page, http: httpx.Client) -> None:
    text = "# שלום Mac\n\nעולם Kubernetes (AWS).\n\nOne שני (three).\n"
    given = {"ontology": "notes", "document": "rtl.md", "text": text, "format": "markdown"}
    document = http.post("/documents", json=given).json()["document_id"]
    page.goto(f"/ui/read/{document}")
    measure = """each => [...each.textContent].map((_, at) => {
        const range = document.createRange(), text = each.firstChild
        range.setStart(text, at)
        range.setEnd(text, at + 1)
        return range.getBoundingClientRect().x
    })"""
    heading, hebrew, english = (
        page.locator(each).evaluate(measure)
        for each in ("h1", ".markdown p >> nth=0", ".markdown p >> nth=1")
    )
    assert heading[0] > heading[5]  # from right to left: the first word is on the right
    assert hebrew[0] > hebrew[19] > hebrew[5] > hebrew[21]  # the full stop is on the left
    assert english[0] < english[4] < english[9] < english[15]


@pytest.mark.usefixtures("ids")
def test_unfinished_word_finds_passages_without_a_note(page: Page) -> None:
    page.goto("/ui/search")
    with page.expect_response(lambda each: "typing=pause" in each.url):
        page.keyboard.type("wagg", delay=60)
        expect(page.locator(".hits .hit").first).to_contain_text("waggle dance")
    expect(page.locator(".hits .hit mark").first).to_have_text("waggle")
    expect(page.locator("#results .note")).to_have_count(0)
    expect(page.locator("#told")).to_contain_text(re.compile(r"\d m?s"))
    expect(page.locator("#preview .passage.hit mark").first).to_have_text("waggle")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hits .hit h2 a").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator(".hits .hit h2 a").nth(1).get_attribute("href") or ""
    expect(page.locator("#preview h2 a")).to_have_attribute("href", second)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".passage.hit")).to_contain_text("waggle dance")


@pytest.mark.usefixtures("ids")
def test_phone_shows_results_before_menu_and_filters(page: Page) -> None:
    show_as(page, "narrow", "light")
    page.goto("/ui/search?q=dance")
    box = page.locator(".hits .hit").first.bounding_box()
    assert box
    assert box["y"] < SIZES["narrow"][1] / 3
    expect(page.get_by_role("link", name="Documents")).to_be_hidden()
    page.get_by_text("Menu").click()
    expect(page.get_by_role("link", name="Documents")).to_be_visible()
    expect(page.get_by_label("Mode")).to_be_hidden()
    page.get_by_text("Filters").click()
    expect(page.get_by_label("Mode")).to_be_visible()


@pytest.mark.usefixtures("ids")
def test_search_and_reading_work_by_keyboard(page: Page) -> None:
    page.goto("/ui/search")
    box = page.locator("#q")
    box.blur()
    page.keyboard.type("//")
    expect(box).to_have_value("/")
    box.fill("")
    page.keyboard.type("Frisch")
    page.keyboard.press("Enter")
    hit = page.locator(".hits .hit h2 a").first
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


def test_uploaded_files_show_their_outcome(page: Page, tmp_path: Path) -> None:
    good, bad = tmp_path / "hive.md", tmp_path / "empty.pdf"
    good.write_text("# Hive\n\nBees live in a hive.\n", encoding="utf-8")
    bad.write_bytes(b"%PDF-1.7 broken")
    page.goto("/ui/documents")
    page.set_input_files("input[type=file]", [good, bad])
    page.fill(".drop input[name=ontology]", "notes")
    page.click(".drop button.main")
    expect(page.locator(".taken li").nth(0)).to_contain_text("hive.md: created, 1 passage")
    expect(page.locator(".taken li").nth(1)).to_contain_text("empty.pdf: ")
    expect(page.locator("#list tbody tr")).to_have_count(1)


@pytest.mark.usefixtures("evaluations")
def test_every_page_is_accessible(page: Page, ids: dict[str, str]) -> None:
    for name, path in pages(ids).items():
        show_as(page, "wide", "light")
        page.goto(path)
        page.wait_for_load_state("networkidle" if name in LATE else "load")
        check_both_screens(page, name)


def check_both_screens(page: Page, name: str) -> None:
    """Check that axe finds no serious problem and that the content is not wider than the screen."""
    for size, scheme, rules in (("wide", "light", None), ("narrow", "dark", OF_WIDTH_AND_COLOUR)):
        show_as(page, size, scheme)
        keep_picture(page, name, scheme)
        see_that_it_is_for_everybody(page, rules)


def show_as(page: Page, size: str, scheme: Any) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)


def keep_picture(page: Page, name: str, scheme: str) -> None:
    if PICTURES is None:
        return
    assert page.viewport_size
    called = f"{name.replace(' ', '-')}-{scheme}-{page.viewport_size['width']}.png"
    page.screenshot(path=Path(PICTURES) / called, full_page=True)


UNTIL_NOTHING_IS_WIDER = """() => new Promise((done) => {
  const end = performance.now() + 5000;
  const look = () => {
    if (document.documentElement.scrollWidth <= innerWidth) done(true);
    else if (performance.now() > end) done(false);
    else requestAnimationFrame(look);
  };
  look();
})"""
"""If the width of the screen changes, it takes a moment until the drawing is updated."""


def see_that_it_is_for_everybody(page: Page, rules: list[str] | None = None) -> None:
    assert page.evaluate(UNTIL_NOTHING_IS_WIDER), page.url
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    if not page.evaluate("'axe' in window"):  # half a megabyte of script
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("options => axe.run(options).then((found) => found.violations)", options)
    assert [each["id"] for each in found if each["impact"] in SERIOUS] == [], (page.url, found)


@pytest.mark.usefixtures("ids")
def test_a_first_visit_is_small(page: Page) -> None:
    sizes = list[int]()
    page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
    page.goto("/ui/search?q=dance")
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < FIRST_VISIT_BYTES
    assert len(sizes) >= 4


def choose(page: Page, *files: Path, ontology: str = "notes") -> None:
    page.set_input_files("input[type=file]", list(files))
    if not page.locator(".drop").evaluate("each => each.open"):
        page.click(".drop summary")
    page.fill(".drop input[name=ontology]", ontology)
    page.click(".drop button.main")


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    path = tmp_path / "hive.md"
    path.write_text("# Hive\n\nBees live in a hive.\n", encoding="utf-8")
    return path


def test_leaving_during_an_upload_needs_confirmation(page: Page, hive: Path) -> None:
    held, asked = list[Route](), list[str]()
    page.route("**/ui/documents", lambda route: held.append(route) if is_sent(route) else route.continue_())

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.goto("/ui/documents")
    choose(page, hive)
    expect(page.locator(".taken li")).to_contain_text("uploading")
    page.evaluate("setTimeout(() => location.reload())")
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    held[0].continue_()
    expect(page.locator(".taken li")).to_have_text("hive.md: created, 1 passage")
    expect(page.locator(".onward")).to_be_visible()
    page.reload()
    assert asked == ["beforeunload"], "no upload is left"


def is_sent(route: Route) -> bool:
    return route.request.method == "POST"


DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.mark.parametrize("path", ["/ui/search", "/ui/documents"])
def test_files_dropped_anywhere_wait_for_an_ontology(page: Page, http: httpx.Client, path: str) -> None:
    page.goto(path)
    page.evaluate(DROP, ["hive.md", "# Hive\n\nBees live in a hive."])
    expect(page.locator("#tray")).to_contain_text("1 file to add")
    page.locator("#tray").get_by_role("button", name="Add files").click()
    assert http.get("/documents").json()["total"] == 0, "no ontology is chosen"
    page.locator("#tray").get_by_label("Ontology").fill("notes")
    page.keyboard.press("Enter")
    expect(page.locator(".taken li")).to_have_text(["hive.md: created, 1 passage"])
    expect(page.locator("#tray .about")).to_contain_text("1 of 1 file searchable by keyword")
    body = {"ontology": "other", "document": "a.md", "text": "Another ontology."}
    assert http.post("/documents", json=body).status_code == 202
    page.goto("/ui/search")
    page.evaluate(DROP, ["wax.md", "Wax."])
    expect(page.locator("#tray").get_by_label("Ontology")).to_have_value("notes")


def test_lost_connection_is_shown_until_restored(browser: Browser, service: Service) -> None:
    context = browser.new_context(base_url=service.url)
    page = context.new_page()
    page.goto("/ui/jobs")
    page.route("**/ui/jobs", lambda each: each.abort("connectionreset"))
    expect(page.locator("#problem")).to_contain_text("kg does not respond")
    page.unroute("**/ui/jobs")
    expect(page.locator("#problem")).to_be_empty()
    context.close()
