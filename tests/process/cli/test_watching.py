from __future__ import annotations

from pathlib import Path

import neo4j
import pytest

from kg_api.graph import jobs
from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, environment, started, wait_until


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


def test_failed_job_is_an_error_with_reason(kg: Kg, graph: Graph, driver: neo4j.Driver, job: str) -> None:
    ended(graph, driver, job, "failed", "EmbeddingFailed: the model gave NaN")
    ran = kg("jobs", "watch", job)
    assert ran.returncode == 1
    assert f"job {job} failed: EmbeddingFailed: the model gave NaN" in ran.stderr
    assert "Traceback" not in ran.stderr


def until_watched(service: Service, job_id: str) -> None:
    wait_until(lambda: f"/jobs/{job_id}" in service.output(), 60, service.output)


def test_a_watch_ends_with_its_jobs_by_events(
    server: Neo4jServer, service: Service, graph: Graph, job: str, tmp_path: Path
) -> None:
    other = graph.transaction(lambda tx: jobs.request_job(tx, "test", "other", added=1))
    env = environment(server, KG_API_URL=service.url)
    with started(["jobs", "watch"], env, tmp_path / "watch.log") as watching:
        for job_id in (job, other):
            until_watched(service, job_id)
        for job_id in (job, other):
            jobs.cancel_job(graph, job_id)
        assert watching.process.wait(30) == 1
    said = watching.output()
    assert [f"job {job_id} is cancelled" in said for job_id in (job, other)] == [True, True]
