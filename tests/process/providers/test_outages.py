"""Tests that jobs wait and searches use keywords if a provider is not available (SPEC C4, F13)."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise

import neo4j
import pytest

from kg_api.local.processes import find_free_port
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import QUERY_SECONDS, World, effects, parts, texts
from tests.support.behaviours import Drop, Hang, Status
from tests.support.cypher import rows
from tests.support.providers import CANARY
from tests.support.running import wait_until

NOMIC_PORT = find_free_port()
TEXT = "The lighthouse keeper counts the ships at dusk."
QUESTION = "lighthouse keeper"
ANOTHER = "the keeper of a lighthouse"
SLACK = 3.5
SPACES = (*("down", "patient", "hanging", "revoked", "known"),)
"""Spaces that are used in the tests. They are created first, because Neo4j has to plan statements again
after each new index."""


@pytest.fixture(scope="module")
def world(open_world: OpenWorld) -> World:
    world = open_world(
        KG_EMBEDDING__QUERY_SECONDS=str(QUERY_SECONDS),
        NOMIC_BASE_URL=f"http://127.0.0.1:{NOMIC_PORT}",
        NOMIC_API_KEY=CANARY,
    )
    for name in SPACES:
        world.space(name)
    return world


@contextmanager
def nomic_answers() -> Generator[None]:
    """Provider in its own process, so that you can kill it."""
    command = [sys.executable, "-m", "tests.support.embedding_server", str(NOMIC_PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def failures(driver: neo4j.Driver, job_id: str) -> int:
    return rows(driver, "MATCH (j:Job {job_id: $id}) RETURN j.failures AS n", id=job_id)[0]["n"]


def test_failed_request_retries_then_job_waits_and_resumes(world: World, driver: neo4j.Driver) -> None:
    model = world.provider.model("down")
    world.configure("down", space="down")
    model.then(None, Drop(mid_body=True), Status(500), Status(503, message=f"no capacity for {CANARY}"))
    model.always = Status(503)
    job_id = world.ingest("down", TEXT)["job_id"]
    waiting = world.until_job(job_id, lambda job: job["error"] is not None)
    assert waiting["state"] == "queued"
    assert waiting["run_after"] > waiting["started_at"]
    assert waiting["error"].startswith("waiting: the embedding provider fails: ")
    assert f"{world.provider.openai_url} returned 503" in waiting["error"]
    tries = [each for each in model.requests if each.body["input"][:1] == [TEXT]]
    assert len(tries) == 3
    assert len({str(each.body) for each in tries}) == 1
    first, second = (after.at - before.at for before, after in pairwise(tries))
    assert first >= 1
    assert second >= 2
    model.always = None
    done = world.until_job(job_id)
    assert (done["done"], done["total"], done["error"]) == (1, 1, None)
    assert done["attempts"] >= 2
    assert failures(driver, job_id) == 0
    assert model.passages == [[TEXT]] * 4
    assert world.status("down") == {"total": 1, "embedded": 1, "missing": 0, "stale": 0}


def test_provider_outage_leaves_keyword_search_and_recovers(world: World) -> None:
    with nomic_answers():
        world.ask("POST", "/embedding/spaces", 201, json={"slug": "away", "provider": "nomic"})
        world.configure("away", space="away")
        world.embedded("away", TEXT)
        # to open the client may alone take the second that a question has
        wait_until(lambda: parts(world.search(QUESTION, ontology="away")) == [], 30)
    answer = world.search(ANOTHER, ontology="away")
    assert answer["seconds"] < QUERY_SECONDS + SLACK
    assert (answer["mode"], answer["space"], answer["spaces"]) == ("text", None, [])
    assert parts(answer) == ["embedding"]
    assert texts(answer) == [texts({"sources": [{"full_text": TEXT}]})[0]]
    assert answer["sources"][0]["similarity"] is None
    again = world.search(ANOTHER, ontology="away", min_similarity=0.9)
    assert (parts(again), len(again["sources"])) == (["embedding"], 1)
    assert "min_similarity was not applied" in effects(again)
    health = world.ask("POST", "/embedding/health")
    found = {each["slug"]: each for each in health["spaces"]}
    assert (health["status"], found["away"]["status"], found["default"]["status"]) == ("error", "error", "ok")
    assert f"127.0.0.1:{NOMIC_PORT}" in found["away"]["error"]
    assert found["default"]["latency_ms"] > 0
    told = world.kg("admin", "spaces", "health")
    assert (told.returncode, "cannot be reached" in " ".join(told.stdout.split())) == (69, True)
    with nomic_answers():
        wait_until(lambda: parts(world.search(ANOTHER, ontology="away")) == [], 10)


def test_a_provider_that_hangs_holds_no_search_up(world: World) -> None:
    model = world.provider.model("hanging")
    world.configure("hanging", space="hanging")
    world.embedded("hanging", TEXT)
    model.always = Hang()
    answer = world.search(QUESTION, ontology="hanging")
    assert QUERY_SECONDS * 0.9 < answer["seconds"] < QUERY_SECONDS + SLACK
    assert (answer["mode"], parts(answer), len(answer["sources"])) == ("text", ["embedding"], 1)
    assert "did not respond in time" in effects(answer)
    asked = len(model.requests)
    again = world.search(QUESTION, ontology="hanging", mode="vector")
    assert (parts(again), len(again["sources"])) == (["embedding"], 1)
    assert len(model.requests) == asked, "what has just failed is not asked again"


def test_revoked_key_is_reported_without_retries(world: World, driver: neo4j.Driver) -> None:
    model = world.provider.model("revoked")
    world.configure("revoked", space="revoked")
    world.embedded("revoked", TEXT)
    model.always = Status(401, message=f"Incorrect API key provided: {CANARY}", code="invalid_api_key")
    before = len(model.requests)
    answer = world.search(QUESTION, ontology="revoked")
    assert (answer["mode"], parts(answer), len(answer["sources"])) == ("text", ["embedding"], 1)
    assert "Set OPENAI_API_KEY to a valid key" in effects(answer)
    assert len(model.requests) == before + 1
    job_id = world.ingest("revoked", "The harbour is empty.", "b.md")["job_id"]
    dead = world.until_job(job_id, lambda job: job["error"] is not None)
    assert (dead["state"], dead["attempts"]) == ("failed", 1)
    assert "returned 401 invalid_api_key" in dead["error"]
    assert "Set OPENAI_API_KEY to a valid key" in dead["error"]
    assert len(model.requests) == before + 2
    assert failures(driver, job_id) == 1
    assert len(world.search("harbour", ontology="revoked")["sources"]) == 1
