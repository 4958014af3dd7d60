"""Work as it goes on and links as they are decided, in a real browser."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from kg_api.client import KgClient
from kg_api.graph.database import Graph
from tests.support.proposals import LEASE, RENT, propose

TABS = 6
"""So many connections a browser opens to one host."""
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

pytestmark = pytest.mark.usefixtures("http")


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


def test_where_too_many_follow_the_page_says_so(page: Page) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=429, content_type="application/problem+json", body="{}")

    page.route("**/jobs/events*", refuse)
    page.goto("/ui/jobs")
    expect(page.locator("#pace")).to_contain_text("Updated every 15 seconds")
    page.unroute("**/jobs/events*")
    expect(page.locator("#pace")).to_be_empty()


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
