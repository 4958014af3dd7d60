"""Tests that a document is not lost if the service crashes after the 202 response (G1)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job
from kg_api.graph.library import find_document
from kg_api.schemas.vocabulary import JobState
from tests.neo4j_server import Neo4jServer
from tests.support.running import serve

TEXT = "# Kept\n\nWhat this service has once accepted outlives the process that accepted it.\n"


@pytest.mark.parametrize("times", [3, pytest.param(200, marks=[pytest.mark.full, pytest.mark.timeout(3600)])])
def test_an_accepted_document_outlives_the_service(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path, times: int
) -> None:
    with ThreadPoolExecutor(2) as pool:  # a start costs more than the rest
        answers = list(pool.map(lambda number: accepted_then_killed(server, tmp_path, number), range(times)))
    for told in answers:
        assert find_document(graph, told["document_id"]).text == TEXT
        job = find_job(graph, told["job_id"])
        assert (job.state, job.total) == (JobState.QUEUED, told["sources"]["added"])
    with driver.session() as session:
        found = session.run("MATCH (d:Document) RETURN count(d)").single(strict=True).value()
    assert found == len({told["job_id"] for told in answers}) == times


def accepted_then_killed(server: Neo4jServer, folder: Path, number: int) -> dict[str, Any]:
    service = serve(server, folder)
    body = {"ontology": f"o{number}", "document": "kept.md", "text": TEXT}
    try:
        with httpx.Client(timeout=30) as client:
            answer = client.post(f"{service.url}/documents", json=body)
    finally:
        service.kill()
    assert (answer.status_code, answer.json()["change"]) == (202, "created")
    return answer.json()
