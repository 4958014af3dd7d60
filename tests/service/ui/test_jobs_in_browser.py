"""Work as it goes on and links as they are decided, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.support.proposals import LEASE, RENT, propose
from tests.support.running import Service

TABS = 6
"""So many connections a browser opens to one host."""
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

pytestmark = pytest.mark.usefixtures("http")


@pytest.fixture
def cut_off(browser: Browser, service: Service) -> Iterator[Page]:
    """A page whose console may tell of what a test refuses it."""
    context = browser.new_context(base_url=service.url)
    yield context.new_page()
    context.close()


def test_tabs_that_nobody_sees_hold_no_connection(page: Page, http: httpx.Client) -> None:
    tabs = [page, *(page.context.new_page() for _ in range(TABS - 1))]
    for each in tabs:
        each.goto("/ui/jobs")
        each.evaluate(HIDE, True)
    further = page.context.new_page()
    further.goto("/ui/search", timeout=10_000)
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    page.evaluate(HIDE, False)
    expect(page.locator("#list tbody tr")).to_contain_text("source embedding")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#list tbody tr")).to_contain_text("cancelled")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, "Updated every 15 seconds: too many follow the jobs at once."),
        (503, "Updated every 15 seconds: kg cannot answer at the moment"),
        (403, "Updated every 15 seconds: kg refuses to tell more often (403)."),
    ],
)
def test_why_the_page_does_not_follow_is_said(cut_off: Page, status: int, said: str) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=status, content_type="application/problem+json", body="{}")

    cut_off.route("**/jobs/events*", refuse)
    cut_off.goto("/ui/jobs")
    expect(cut_off.locator("#pace")).to_contain_text(said)
    cut_off.unroute("**/jobs/events*")
    if status == 429:  # it takes 15 seconds
        expect(cut_off.locator("#pace")).to_be_empty()


def test_a_lost_connection_is_said_until_it_is_there_again(cut_off: Page) -> None:
    cut_off.route("**/jobs/events*", lambda each: each.abort("connectionreset"))
    cut_off.goto("/ui/jobs")
    expect(cut_off.locator("#pace")).to_contain_text("the connection to kg was lost")
    cut_off.unroute("**/jobs/events*")
    expect(cut_off.locator("#pace")).to_be_empty()


def test_whoever_decides_by_keyboard_goes_on_to_the_next_link(page: Page, kg: KgClient, graph: Graph) -> None:
    for name, text in (("rent.md", RENT), ("lease.md", LEASE)):
        kg.ingest_text(text, ontology="notes", document=name)
    propose(kg, graph)
    page.goto("/ui/proposals")
    links = page.locator(".proposal")
    number = links.count()
    assert number > 1
    for at in range(number):
        button = links.nth(at).get_by_role("button", name="Accept")
        button.focus() if at == 0 else expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(links.nth(at)).to_contain_text("accepted")
    expect(page.locator("h1")).to_be_focused()
