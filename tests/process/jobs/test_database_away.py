"""Tests that workers wait and the service returns 503 if Neo4j is killed (G25, G34)."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job
from kg_api.graph.schema import migrate
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer, managed_server
from tests.process.jobs.crew import (
    BATCH,
    Crew,
    assert_all_embedded,
    failures,
    said,
    seed,
    tell,
    until_done,
    until_progress,
)
from tests.process.jobs.test_batch_kills import SIZE, SOURCES, assert_stored_once, batch_of, send_until_stored
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.running import Service, ready, serve, wait_until

LONGEST_ANSWER = 20.0
SEEDED = "seeded"
"""Ontology of the job. Batches go to another one."""
SENT = 4
"""Batches per kill."""
REQUESTS = (
    ("POST", "/queries/sources/search", {"query_text": "its own words", "mode": "hybrid"}),
    ("POST", "/queries/sources/search", {"query_text": "its own words", "mode": "vector"}),
    ("POST", "/documents", {"ontology": "notes", "document": "while-away.md", "text": "A document.\\n"}),
    ("GET", "/ontologies", None),
    ("GET", "/jobs", None),
    ("GET", "/ready", None),
)


class Stage:
    def __init__(self, server: Neo4jServer, folder: Path, opened: ExitStack) -> None:
        self.server = server
        self.graph = opened.enter_context(Graph(server.uri, server.user, server.password))
        options = {"notifications_min_severity": neo4j.NotificationMinimumSeverity.OFF}
        auth = (server.user, server.password)
        self.driver = opened.enter_context(neo4j.GraphDatabase.driver(server.uri, auth=auth, **options))
        migrate(self.graph)
        self.service = serve(server, folder)
        opened.callback(self.service.kill)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with managed_server() as server, ExitStack() as opened:
        yield Stage(server, tmp_path_factory.mktemp("stage"), opened)


@pytest.fixture
def crew(stage: Stage, tmp_path: Path) -> Iterator[Crew]:
    wipe(stage.driver)
    ensure_space(stage.graph, small_embedder().identity)  # as the service did when it started
    crew = Crew(stage.server, tmp_path)
    yield crew
    crew.end()


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(1, id="one kill"),
        pytest.param(5, id="5 kills", marks=[pytest.mark.full, pytest.mark.timeout(1800)]),
    ],
)
def test_killed_neo4j_loses_no_job_and_returns_503(stage: Stage, crew: Crew, kills: int) -> None:
    each = 40 * BATCH
    sources = kills * each
    job_id = seed(stage.graph, sources, SEEDED)
    worker = crew.hire(0.2)
    for number in range(kills):
        until_progress(stage.graph, job_id, done=number * each + 2 * BATCH)
        given = [batch_of(number * SENT + at) for at in range(SENT)]
        with ThreadPoolExecutor(2) as pool:
            sending = [pool.submit(send_until_stored, stage.service.url, batch) for batch in given]
            wait_until(lambda least=number * SENT * SIZE: rows(stage.driver, SOURCES)[0]["n"] > least, 60)
            stage.server.kill()
            tell(f"killed when {sum(one.done() for one in sending)} of {SENT} batches were stored")
            ask_while_away(stage.service)
            begun = time.monotonic()
            stage.server.restart()
            returned = time.monotonic()
            known = find_job(stage.graph, job_id).done
            wait_until(lambda: failures(stage.driver, job_id) == 0, 1)
            until_progress(stage.graph, job_id, done=known + 1)
            goes_on = time.monotonic() - returned
            wait_until(lambda: ready(stage.service.url), 120)
            tell(f"Neo4j back after {returned - begun:.1f} s, the job goes on {goes_on:.1f} s later")
            assert [len(one.result()) for one in sending] == [SIZE] * SENT
    done = until_done(stage.graph, job_id, seconds=300)
    assert (done.done, done.total, done.error) == (sources, sources, None)
    assert_all_embedded(stage.driver, sources, SEEDED)
    assert crew.embedded_again() <= kills * BATCH
    assert not said(worker, "job failed"), worker.output()
    assert worker.stop() == 0, "it is the very process of the beginning"
    batches = [batch_of(at) for at in range(kills * SENT)]
    assert_stored_once(stage.service.url, stage.driver, batches)
    ask_after_return(stage.service)


def ask_while_away(service: Service) -> None:
    with httpx.Client(base_url=service.url, timeout=60) as client, ThreadPoolExecutor(len(REQUESTS)) as pool:
        answers = list(pool.map(lambda request: timed(client, *request), REQUESTS))
        assert client.get("/health").status_code == 200
    for (method, path, _), (answer, seconds) in zip(REQUESTS, answers, strict=True):
        tell(f"{method} {path}: {answer.status_code} after {seconds:.1f} s")
        assert (answer.status_code, "Neo4j" in answer.text) == (503, True), answer.text
        assert seconds < LONGEST_ANSWER, path
        if path != "/ready":
            assert answer.headers["content-type"] == "application/problem+json"
            assert int(answer.headers["retry-after"]) > 0


def timed(client: httpx.Client, method: str, path: str, body: object) -> tuple[httpx.Response, float]:
    begun = time.monotonic()
    return client.request(method, path, json=body), time.monotonic() - begun


def ask_after_return(service: Service) -> None:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        for method, path, body in REQUESTS:
            answer = client.request(method, path, json=body)
            assert answer.is_success, (path, answer.text)
        body = {"query_text": f"source 7 of {SEEDED} w7", "ontology": SEEDED, "limit": 1}
        found = client.post("/queries/sources/search", json=body)
    assert found.json()["degraded"] == []
    assert "source 7 " in found.json()["sources"][0]["full_text"]
    assert service.process.poll() is None
