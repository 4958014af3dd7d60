"""Tests that a commit can be run again if its response was lost (G11)."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job, read_jobs_page
from tests.neo4j_server import Neo4jServer
from tests.process.jobs.crew import BATCH, Crew, assert_all_embedded, said, seed, until_done
from tests.support.cypher import rows
from tests.support.proxy import BoltProxy, bolt_proxy
from tests.support.running import serve, wait_until

TEXT = "".join(
    f"Paragraph {number} " + "has words enough to stand alone. " * 20 + "\n\n" for number in range(9)
)


@pytest.fixture
def proxy(server: Neo4jServer) -> Iterator[BoltProxy]:
    with bolt_proxy(server.uri) as opened:
        yield opened


def test_an_ingest_is_stored_once(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, proxy: BoltProxy, tmp_path: Path
) -> None:
    service = serve(replace(server, uri=proxy.uri), tmp_path)
    proxy.cut([1])
    try:
        body = {"ontology": "notes", "document": "a.md", "text": TEXT}
        answer = httpx.post(f"{service.url}/documents", json=body, timeout=30)
    finally:
        service.kill()
    told = answer.json()
    assert (answer.status_code, told["change"], told["sources"]["added"]) == (202, "created", 9)
    assert proxy.cuts == 1
    counts = "MATCH (s:Source) WITH count(s) AS n MATCH (d:Document) RETURN n, d.sources AS told"
    assert rows(driver, counts) == [{"n": 9, "told": 9}]
    (job,), total = read_jobs_page(graph, state=None, kind=None, ontology="notes", offset=0, limit=9)
    assert (total, job.total, job.job_id) == (1, 9, told["job_id"])


def test_worker_continues_and_counts_nothing_twice(
    crew: Crew, graph: Graph, driver: neo4j.Driver, proxy: BoltProxy
) -> None:
    job_id = seed(graph, 6 * BATCH)
    worker = crew.hire_and_wait(env={"KG_NEO4J__URI": proxy.uri})
    dice = random.Random(11)
    proxy.cut(lambda _: dice.random() < 1 / 3)
    done = until_done(graph, job_id)
    proxy.cut([])
    assert proxy.cuts > 2
    assert (done.done, done.total, done.error) == (6 * BATCH, 6 * BATCH, None)
    assert_all_embedded(driver, 6 * BATCH)
    assert crew.embedded_again() == 0
    again = seed(graph, BATCH, "other")
    assert until_done(graph, again).done == BATCH
    assert worker.stop() == 0, "it works on"
    assert not said(worker, "job failed")


def test_connection_lost_at_every_commit_is_an_outage(
    crew: Crew, graph: Graph, driver: neo4j.Driver, proxy: BoltProxy
) -> None:
    job_id = seed(graph, 4 * BATCH)
    worker = crew.hire(env={"KG_NEO4J__URI": proxy.uri})
    wait_until(lambda: find_job(graph, job_id).done >= BATCH, 60, worker.output)
    proxy.cut(lambda _: True)
    wait_until(lambda: said(worker, "waiting for the database"), 60, worker.output)
    proxy.cut([])
    done = until_done(graph, job_id)
    assert (done.done, done.total, done.error) == (4 * BATCH, 4 * BATCH, None)
    assert_all_embedded(driver, 4 * BATCH)
