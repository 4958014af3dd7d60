"""`kg admin backup` of a stopped kg, and `kg admin restore` into an empty home and over data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import pytest

from kg_api.local.processes import Home
from tests.neo4j_server import KEPT_PLANS
from tests.process.managed.dummy import until
from tests.process.managed.test_kg_up import Machine, fresh_machine, machine_in
from tests.support.backups import write_backup
from tests.support.images import drawn, encoded

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
QUESTIONS = ("what happens when the disk is full", "pictures of pages", "red boat", "who may ask")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    folder = tmp_path_factory.mktemp("backup")
    conf = json.dumps(KEPT_PLANS)
    stack = machine_in(folder / "kg", KG_BACKUP__FOLDER=str(folder / "backups"), KG_NEO4J__CONF=conf)
    try:
        stack.kg("up")
        (folder / "boat.jpg").write_bytes(encoded(drawn(600, 400), "JPEG"))
        texts = [str(GUIDES / name) for name in ("ingest.md", "images.md")]
        stack.kg("ingest", *texts, str(folder / "boat.jpg"), "--ontology", "notes", "--wait")
        yield stack
    finally:
        stack.kg("down")


def ask(url: str, question: str) -> httpx.Response:
    body = {"query_text": question, "ontology": "notes", "limit": 10}
    return httpx.post(f"{url}/queries/sources/search", json=body, timeout=30)


def hits(url: str) -> dict[str, list[tuple[str, float]]]:
    answers = {question: ask(url, question).json() for question in QUESTIONS}
    return {
        question: [(hit["source_id"], hit["score"]) for hit in answer["sources"]]
        for question, answer in answers.items()
    }


def picture(machine: Machine) -> bytes:
    page = json.loads(machine.kg("images", "list", "--ontology", "notes", "--json")[0])
    url, source = machine.status()["api_url"], page["images"][0]["source_id"]
    answer = httpx.get(f"{url}/images/{source}")
    assert answer.status_code == 200, answer.text
    return answer.content


@pytest.mark.timeout(1500)
def test_restored_copy_searches_equally_despite_killed_restores(machine: Machine, tmp_path: Path) -> None:
    before, boat = hits(machine.status()["api_url"]), picture(machine)
    other = str(write_backup(tmp_path, "kg-1"))
    for command in (("backup",), ("restore", other, "--replace", "--yes")):
        assert "kg down" in machine.kg("admin", *command, code=5)[1]
    assert machine.status()["ready"] is True
    machine.kg("down")
    path = json.loads(machine.kg("admin", "backup", "--keep", "1", "--json")[0])["path"]
    [listed] = json.loads(machine.kg("admin", "backups", "--json")[0])["backups"]
    assert (listed["path"], listed["whole"]) == (path, True)
    copy = fresh_machine(tmp_path / "copy")
    home, restore = Home(copy.home), ("admin", "restore", path)
    killed(copy, *restore, reached=home.restoring.joinpath("neo4j/data/transactions/neo4j").exists)
    assert not home.has_data()
    assert "interrupted" in copy.kg("doctor", code=1)[0]
    assert json.loads(copy.kg(*restore, "--json")[0])["counts"]["documents"] == 3
    assert not home.restoring.exists()
    assert "--replace" in copy.kg(*restore, code=5)[1]
    assert "nothing was done" in copy.kg(*restore, "--replace", code=1)[1]
    try:
        copy.kg("up")
        url = copy.status()["api_url"]
        until(lambda: hits(url) == before, "the same hits with the same scores", 30, pause=0.5)
        assert picture(copy) == boat
    finally:
        copy.kg("down")


def killed(machine: Machine, *arguments: str, reached: Callable[[], bool]) -> None:
    command = [sys.executable, "-m", "kg_cli.main", *arguments]
    with subprocess.Popen(command, env=machine.env, stderr=subprocess.DEVNULL) as child:
        until(reached, "the restore to be under way", 180)
        child.kill()
