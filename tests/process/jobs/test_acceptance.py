"""What was answered with 202 is there, whatever happens to the service right after (G1)."""

from __future__ import annotations

from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph.database import Graph
from kg_api.graph.jobs import find_job
from kg_api.graph.library import find_document
from kg_api.models.jobs import JobState
from tests.neo4j_server import Neo4jServer
from tests.support.running import serve

TEXT = "# Kept\n\nWhat this service has once accepted outlives the process that accepted it.\n"


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=[pytest.mark.full, pytest.mark.timeout(3600)])])
def test_an_accepted_document_outlives_the_service(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path, times: int
) -> None:
    for number in range(times):
        service = serve(server, tmp_path)
        body = {"ontology": f"o{number}", "document": "kept.md", "text": TEXT}
        with httpx.Client(timeout=30) as client:
            answer = client.post(f"{service.url}/documents", json=body)
            service.kill()
        told = answer.json()
        assert (answer.status_code, told["change"]) == (202, "created")
        assert find_document(graph, told["document_id"]).text == TEXT
        job = find_job(graph, told["job_id"])
        assert (job.state, job.total) == (JobState.QUEUED, told["sources"]["added"])
    with driver.session() as session:
        found = session.run("MATCH (d:Document) RETURN count(d)").single(strict=True).value()
    assert found == times
