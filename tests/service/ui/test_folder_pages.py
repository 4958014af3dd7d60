from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from kg_api.graph.client import Graph
from tests.service.ui.test_pages import shown, words
from tests.support.running import Service
from tests.support.sync import documents, put, work

MARKUP = "<b>bold</b>"


def follow(http: httpx.Client, path: Path, **more: str) -> str:
    answer = http.post("/ui/folders", data={"path": str(path), "ontology": "notes", **more})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_folder_is_synced_and_shows_its_scan(http: httpx.Client, graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / f"notes {MARKUP.replace('/', '')}"
    put(folder, one="The canary sings.\n", two="The second one.\n")
    (folder / f"{MARKUP.replace('/', '')}.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "film.mp4").write_bytes(b"x")
    at = follow(http, folder, every_seconds="3600", prefix="n/", review="true")
    (followed,) = http.get("/folders").json()["folders"]
    assert (followed["every_seconds"], followed["prefix"], followed["review"]) == (3600, "n/", True)
    assert shown(http, "/ui/folders").xpath("//span[@data-poll]") != [], "it is scanned"
    work(graph)
    page = shown(http, at)
    text = " ".join(words([page]))
    assert "scanned every 1 hour" in text
    assert "2 files pending review" in text
    assert "1 file rejected" in text
    assert "1 file skipped: .mp4" in text
    assert page.xpath("//main//b | //span[@data-poll]") == []
    row = words(shown(http, "/ui/folders").xpath("//tbody/tr/*"))
    assert row[0] == str(folder)
    assert row[1:3] == ["notes", "synced"]
    assert row[-2:] == ["0", "1"]


def test_folder_is_removed_after_showing_its_documents(
    http: httpx.Client, graph: Graph, tmp_path: Path
) -> None:
    for delete, left in (("false", 2), ("true", 0)):
        put(tmp_path, one="The canary sings.\n", two="The second one.\n")
        at = follow(http, tmp_path)
        work(graph)
        page = shown(http, f"{at}/remove")
        assert "2 documents of notes came from" in " ".join(words([page]))
        assert len(documents(graph)) == 2, "nothing goes before it is confirmed"
        assert page.xpath("//input[@checked]/@value") == ["false"]
        answer = http.post(f"{at}/remove", data={"delete_documents": delete})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/folders")
        assert len(documents(graph)) == left
        assert http.get("/folders").json() == {"folders": []}


@pytest.mark.usefixtures("graph")
def test_a_form_that_cannot_succeed_is_not_shown(writing: Service, tmp_path: Path) -> None:
    with httpx.Client(base_url=writing.url) as client:
        page = shown(client, "/ui/folders")
        refused = client.post("/ui/folders", data={"path": str(tmp_path), "ontology": "notes"})
    assert page.xpath("//main//form") == []
    assert "kg folders add PATH on the service" in " ".join(words(page.xpath("//p[@class='note']")))
    assert refused.status_code == 422
