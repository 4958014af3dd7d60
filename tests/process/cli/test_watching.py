"""`kg jobs watch`: it ends with the jobs, and its exit code says how they ended."""

from __future__ import annotations

import signal
import subprocess
import sys

import neo4j
import pytest

from kg_api.graph import jobs
from kg_api.graph.database import Graph
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, environment


@pytest.fixture
def job(graph: Graph) -> str:
    return graph.transaction(lambda tx: jobs.request_job(tx, "test", "notes", added=2))


def ended(graph: Graph, driver: neo4j.Driver, job_id: str, state: str, error: str | None) -> None:
    del graph
    with driver.session() as session:
        session.run(
            "MATCH (j:Job {job_id: $id}) SET j.state = $state, j.error = $error, j.unique_key = null",
            id=job_id,
            state=state,
            error=error,
        ).consume()


def test_nothing_to_watch_is_said(kg: Kg, graph: Graph) -> None:
    del graph
    ran = kg("jobs", "watch")
    assert (ran.returncode, "No job is waiting or running" in ran.stderr) == (0, True)


def test_a_job_that_is_done_ends_the_watch(kg: Kg, graph: Graph, driver: neo4j.Driver, job: str) -> None:
    ended(graph, driver, job, "completed", None)
    assert kg("jobs", "watch", job).returncode == 0


def test_a_dead_job_is_an_error_with_its_reason(kg: Kg, graph: Graph, driver: neo4j.Driver, job: str) -> None:
    ended(graph, driver, job, "dead", "EmbeddingFailed: the model gave NaN")
    ran = kg("jobs", "watch", job)
    assert ran.returncode == 1
    assert f"job {job} is dead: EmbeddingFailed: the model gave NaN" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_interrupted_watch_ends_without_a_trace(server: Neo4jServer, service: Service, job: str) -> None:
    assert job
    with subprocess.Popen(
        [sys.executable, "-m", "kg_cli.main", "jobs", "watch"],
        env=environment(server, KG_API_URL=service.url),
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        with pytest.raises(subprocess.TimeoutExpired):
            watching.wait(3)
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=20)
    assert (watching.returncode, "Traceback" in errors) == (130, False)
