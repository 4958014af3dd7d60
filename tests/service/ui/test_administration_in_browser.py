from __future__ import annotations

import pytest
from playwright.sync_api import Page

from kg_api.client import KgClient
from tests.service.ui.test_in_browser import check_both_screens, show_as

pytestmark = pytest.mark.usefixtures("http")


@pytest.fixture
def in_hand(kg: KgClient) -> dict[str, str]:
    kg.ingest_text("Birds.", ontology="birds", document=f"{'b' * 90}.md", review=True)
    key = kg.create_key("ada").key_id
    return {
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
