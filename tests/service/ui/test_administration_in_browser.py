from pathlib import Path

import pytest
from playwright.sync_api import Page

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.ui.test_in_browser import check_both_screens, show_as
from tests.support.sync import put, work

pytestmark = pytest.mark.usefixtures("http")


@pytest.fixture
def in_hand(kg: KgClient, graph: Graph, tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / ("a_very_long_name_" * 8)
    put(folder, one="The canary sings.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    followed = kg.add_folder(str(folder), ontology="notes").folder_id
    work(graph)
    kg.ingest_text("Birds.", ontology="birds", document=f"{'b' * 90}.md", review=True)
    return {
        "folders": "/ui/folders",
        "folder": f"/ui/folders/{followed}",
        "removal of a folder": f"/ui/folders/{followed}/remove",
        "review": "/ui/review?ontology=birds",
        "approval of all": "/ui/review/approve?ontology=birds",
        "rejection of all": "/ui/review/reject?ontology=birds",
        "ontologies with work": "/ui/ontologies",
    }


def test_pages_during_jobs_are_accessible(page: Page, in_hand: dict[str, str]) -> None:
    for name, path in in_hand.items():
        show_as(page, "wide", "light")
        answer = page.goto(path)
        assert answer
        assert answer.ok, path
        check_both_screens(page, name)
