from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from kg_api.graph.client import Graph
from tests.service.asking import problem
from tests.support.sync import put, work


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, one="The canary sings.\n", two="The second one.\n")
    return folder


def add(http: httpx.Client, path: Path | str, **more: Any) -> dict[str, Any]:
    response = http.post("/folders", json={"path": str(path), "ontology": "notes", **more})
    assert response.status_code == 202, response.text
    return response.json()


def test_scan_is_started_on_request(http: httpx.Client, folder: Path, graph: Graph) -> None:
    followed = add(http, folder)["folder_id"]
    work(graph)
    (folder / "one.md").unlink()
    response = http.post(f"/folders/{followed}/scan", json={})
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    work(graph)
    assert http.get(f"/folders/{followed}").json()["last_scan"]["removed"] == 1
    (folder / "two.md").unlink()
    http.post(f"/folders/{followed}/scan", json={})
    work(graph)
    emptied = http.get(f"/folders/{followed}").json()
    assert "--allow-empty" in emptied["error"]
    http.post(f"/folders/{followed}/scan", json={"allow_empty": True})
    work(graph)
    cleared = http.get(f"/folders/{followed}").json()
    assert (cleared["documents"], cleared["error"]) == (0, None)


def test_folders_that_are_not_there_are_not_found(http: httpx.Client) -> None:
    for method, path in (("GET", "/folders/no"), ("DELETE", "/folders/no")):
        problem(http.request(method, path), 404)
    problem(http.post("/folders/no/scan", json={}), 404)
    problem(http.post("/folders/no/scan", json={"all": True}), 422)
