from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.ui.test_in_browser import check_both_screens, see_that_it_is_for_everybody, show_as
from tests.support.sync import put, work

pytestmark = pytest.mark.usefixtures("http")


def test_page_reload_does_not_create_another_key(page: Page, kg: KgClient) -> None:
    page.goto("/ui/keys")
    page.get_by_label("Name").fill("ada")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator(".secret")).to_be_visible()
    sent = list[str]()
    page.on("request", lambda each: sent.append(each.method))
    page.reload()
    expect(page.locator("h1")).to_have_text("Keys")
    assert "POST" not in sent
    assert [each.name for each in kg.keys().keys] == ["ada"]


def test_what_administration_opens_moves_nothing_else(page: Page) -> None:
    page.goto("/ui/search")
    places = page.locator(".top nav > a, .top summary")
    closed = [each.bounding_box() for each in places.all()]
    page.locator(".top summary").click()
    expect(page.get_by_role("link", name="Folders")).to_be_visible()
    assert [each.bounding_box() for each in places.all()] == closed
    links = page.locator(".top nav a").all()
    assert len({round(box["y"]) for each in links if (box := each.bounding_box())}) <= 2


def test_delete_buttons_differ_from_create_buttons(page: Page, kg: KgClient) -> None:
    document = kg.ingest_text("Bees.", ontology="notes", document="a.md").document_id
    key = kg.create_key("ada").key_id
    page.goto("/ui/keys")
    button = page.get_by_role("button", name="Create key")
    making = {scheme: colour_of(button, scheme) for scheme in ("light", "dark")}
    for path in (
        f"/ui/documents/change?documents={document}",
        "/ui/ontologies/notes/delete",
        f"/ui/keys/{key}/revoke",
    ):
        page.goto(path)
        for scheme, colour in making.items():
            assert colour_of(page.locator("main .danger"), scheme) != colour, (path, scheme)
            see_that_it_is_for_everybody(page, ["color-contrast"])


def colour_of(button: Locator, scheme: Any) -> str:
    button.page.emulate_media(color_scheme=scheme)
    return button.evaluate("each => getComputedStyle(each).backgroundColor")


@pytest.fixture
def in_hand(kg: KgClient, graph: Graph, tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / ("a_very_long_name_" * 8)
    put(folder, one="The canary sings.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    followed = kg.add_folder(str(folder), ontology="notes").folder_id
    work(graph)
    kg.ingest_text("Birds.", ontology="birds", document=f"{'b' * 90}.md", review=True)
    key = kg.create_key("ada").key_id
    return {
        "folders": "/ui/folders",
        "folder": f"/ui/folders/{followed}",
        "removal of a folder": f"/ui/folders/{followed}/remove",
        "review": "/ui/review?ontology=birds",
        "approval of all": "/ui/review/approve?ontology=birds",
        "rejection of all": "/ui/review/reject?ontology=birds",
        "ontologies with work": "/ui/ontologies",
        "keys": "/ui/keys",
        "revocation of a key": f"/ui/keys/{key}/revoke",
    }


def test_pages_during_jobs_are_accessible(page: Page, in_hand: dict[str, str]) -> None:
    for name, path in in_hand.items():
        show_as(page, "wide", "light")
        answer = page.goto(path)
        assert answer
        assert answer.ok, path
        check_both_screens(page, name)
