"""Tests that an accepted document outlives the service (G1), that equal requests use the same job (G12,
G13), and that kg rejects requests if there are too many jobs (G24)."""

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
from tests.process.jobs.crew import seed
from tests.support.cypher import rows
from tests.support.running import serve

MOST_QUEUED = 5


def posted(client: httpx.Client, times: int, path: str, **options: object) -> list[httpx.Response]:
    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(lambda _: client.post(path, **options), range(times)))  # pyright: ignore[reportArgumentType]


def jobs(driver: neo4j.Driver) -> list[str]:
    found = rows(driver, "MATCH (j:Job) WHERE j.kind = 'source_embedding' RETURN j.job_id AS id")
    return [row["id"] for row in found]


def test_fifty_requests_with_one_key_are_one(http: httpx.Client, graph: Graph, driver: neo4j.Driver) -> None:
    """The job can end before the last request. Without the key, this request would start another job."""
    seed(graph, 3)
    seed(graph, 3, "others")
    rows(driver, "MATCH (j:Job) SET j.state = 'succeeded', j.unique_key = null")
    key = {"Idempotency-Key": "once"}
    answers = posted(http, 50, "/ontologies/notes/embeddings", headers=key)
    assert {answer.status_code for answer in answers} == {202}, answers[0].text
    told = {answer.json()["job_id"] for answer in answers}
    assert len(told) == 1
    assert len(jobs(driver)) == 3
    rows(driver, "MATCH (j:Job) SET j.state = 'succeeded', j.unique_key = null")
    again = http.post("/ontologies/notes/embeddings", headers=key)
    assert (again.status_code, again.json()["job_id"]) == (202, told.pop())
    other = http.post("/ontologies/others/embeddings", headers=key)
    assert (other.status_code, other.headers["content-type"]) == (409, "application/problem+json")
    assert len(jobs(driver)) == 3


def test_twenty_requests_without_a_key_join_one_job(
    http: httpx.Client, graph: Graph, driver: neo4j.Driver
) -> None:
    seed(graph, 3)
    rows(driver, "MATCH (j:Job) DETACH DELETE j")
    answers = posted(http, 20, "/ontologies/notes/embeddings")
    assert {answer.status_code for answer in answers} == {202}, answers[0].text
    assert {answer.json()["job_id"] for answer in answers} == set(jobs(driver))
    assert len(jobs(driver)) == 1


def test_full_queue_rejects_only_new_jobs(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    del graph
    service = serve(server, tmp_path, KG_WORKER__MOST_QUEUED=str(MOST_QUEUED))
    try:
        with httpx.Client(base_url=service.url, timeout=60) as client:
            flooded(client)
    finally:
        service.kill()
    assert len(jobs(driver)) == MOST_QUEUED
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": MOST_QUEUED + 1}]
    assert rows(driver, "MATCH (o:Ontology) RETURN count(o) AS n") == [{"n": MOST_QUEUED}]


def flooded(client: httpx.Client) -> None:
    for number in range(MOST_QUEUED):
        assert stored(client, f"o{number}").status_code == 202
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda number: stored(client, f"too many {number}"), range(100)):
            assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (429, True), answer.text
            assert answer.headers["content-type"] == "application/problem+json"
    joined = stored(client, "o1", "b.md")
    assert joined.status_code == 202, "it needs no job of its own"
    found = client.post("/queries/sources/search", json={"query_text": "harbour"})
    assert len(found.json()["sources"]) > 0, found.text


def stored(client: httpx.Client, ontology: str, document: str = "a.md") -> httpx.Response:
    return client.post("/documents", json={"ontology": ontology, "document": document, "text": "A harbour."})


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
