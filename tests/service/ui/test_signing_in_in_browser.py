"""Signing in as a browser without scripts does it."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from kg_api.access import keys
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import NewKey
from tests.support.embedders import small_embedder
from tests.support.running import Service


def test_without_scripts_a_new_key_goes_on_where_the_old_one_ended(
    browser: Browser, guarded: Service, graph: Graph
) -> None:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    context = browser.new_context(base_url=guarded.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/ui/concepts?q=owl")
    for name in ("ada", "bob"):
        page.get_by_label("Key").fill(keys.create_key(graph, NewKey(name=name, scope="read"), "local").key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#q")).to_have_value("owl")
        page.reload()
        expect(page.locator("#q")).to_have_value("owl")
        keys.revoke_key(graph, name)
        expect_signed_out(page)
    context.close()


def expect_signed_out(page: Page) -> None:
    """Within seconds, as sessions are remembered for so long."""
    for _ in range(30):
        page.reload()
        if page.get_by_label("Key").count():
            return
        page.wait_for_timeout(1000)
    raise AssertionError(page.content())
