"""`kg admin backup` while people search and write, and `kg admin restore` into an empty home."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from kg_api.local.processes import Home
from tests.neo4j_server import KEPT_PLANS
from tests.process.managed.dummy import until
from tests.process.managed.test_kg_up import Machine, fresh_machine, machine_in
from tests.support.images import drawn, encoded

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
QUESTIONS = ("what happens when the disk is full", "pictures of pages", "red boat", "who may ask")
HOURS = "0.001"
"""3.6 seconds."""
CHECKPOINT = "checkpoint completed"
"""In Neo4j's log; the machine here makes one every two seconds."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    """A kg that runs, with text and a picture."""
    folder = tmp_path_factory.mktemp("backup")
    conf = json.dumps(KEPT_PLANS | {"db.checkpoint.interval.time": "2s"})
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
    """What is found, with its scores."""
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


@contextmanager
def client_at_work(url: str) -> Generator[list[httpx.Response]]:
    """Somebody who searches and stores all the time; gives what they are answered."""
    answers, stop = list[httpx.Response](), threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            answers.append(ask(url, QUESTIONS[number % len(QUESTIONS)]))
            body = {"ontology": "busy", "document": f"{number}.txt", "text": f"Note {number}."}
            answers.append(httpx.post(f"{url}/documents", json=body, timeout=30))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join()


def test_who_searches_and_writes_during_a_backup_is_answered(machine: Machine) -> None:
    url = machine.status()["api_url"]
    with client_at_work(url) as answers:
        until(lambda: len(answers) > 4, "the client to be at work", 120)
        made = json.loads(machine.kg("admin", "backup", "--json")[0])
    assert {answer.status_code for answer in answers} <= {200, 202, 503}
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
    assert made["paused_seconds"] < 5
    assert made["counts"]["documents"] > 3
    assert len(made["left_out"]) == 4
    machine.kg("jobs", "watch")


def wait_for_checkpoint(machine: Machine) -> None:
    """Wait until Neo4j has brought all to its files that was written before.

    A copy is started as after a crash: what was written since the last checkpoint is written again. Scores
    count what Lucene has deleted and not thrown away yet, so they may differ then, in the seventh digit.
    """
    log = Home(machine.home).neo4j_logs / "debug.log"
    before = log.read_text(encoding="utf-8").count(CHECKPOINT)
    until(lambda: log.read_text(encoding="utf-8").count(CHECKPOINT) > before + 1, "a checkpoint", 60)


def test_a_copy_finds_the_same_and_makes_backups_on_its_schedule(machine: Machine, tmp_path: Path) -> None:
    wait_for_checkpoint(machine)
    before, boat = hits(machine.status()["api_url"]), picture(machine)
    made = json.loads(machine.kg("admin", "backup", "--json")[0])
    copy = fresh_machine(tmp_path / "copy", KG_BACKUP__EVERY_HOURS=HOURS, KG_BACKUP__KEEP="1")
    told = json.loads(copy.kg("admin", "restore", made["path"], "--json")[0])
    assert told["counts"] == made["counts"]
    assert not Home(copy.home).restoring.exists()
    try:
        copy.kg("up")
        url = copy.status()["api_url"]
        until(lambda: hits(url) == before, "the same hits with the same scores", 30, pause=0.5)
        assert picture(copy) == boat
        scheduled_backups_are_made_and_the_oldest_go(copy)
    finally:
        copy.kg("down")


def scheduled_backups_are_made_and_the_oldest_go(machine: Machine) -> None:
    """In the restored home, for another start would cost more than all of this."""
    seen = set[str]()

    def look() -> bool:
        seen.update(each["path"] for each in backups(machine) if each["whole"])
        return len(seen) >= 2

    until(look, "two backups", 120, pause=0.5)
    until(lambda: sum(each["whole"] for each in backups(machine)) == 1, "the oldest to go", 20)
    assert str(Home(machine.home).backups) in machine.status()["backup"]
    daily = machine.with_variables(KG_BACKUP__EVERY_HOURS="24")
    found = {each["name"]: each for each in json.loads(daily.kg("doctor", "--json")[0])}
    assert found["backup"]["state"] == "ok"


def backups(machine: Machine) -> list[dict[str, Any]]:
    return json.loads(machine.kg("admin", "backups", "--json")[0])["backups"]


def test_a_restore_over_a_kg_that_runs_or_that_holds_data_is_refused(machine: Machine) -> None:
    made = backups(machine)[0]["path"]
    assert "kg down" in machine.kg("admin", "restore", made, "--replace", "--yes", code=5)[1]
    assert machine.status()["ready"] is True


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_kills_of_backups_lose_nothing_and_leave_neo4j_at_work(machine: Machine) -> None:
    url = machine.status()["api_url"]
    before = hits(url)
    for tenth in range(20):
        with machine.start("admin", "backup") as command:
            time.sleep(0.8 + tenth / 10)
            command.kill()
            command.communicate()
        begun = time.monotonic()
        assert hits(url) == before
        assert time.monotonic() - begun < 10
    made = json.loads(machine.kg("admin", "backup", "--json")[0])["path"]
    found = backups(machine)
    assert all(each["whole"] for each in found), found
    assert made in {each["path"] for each in found}
