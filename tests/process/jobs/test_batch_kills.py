"""Tests that each document is stored only once if a batch is interrupted and sent again (G34)."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import read_jobs_page
from tests.neo4j_server import Neo4jServer
from tests.process.jobs.crew import tell
from tests.support.cypher import rows
from tests.support.proxy import bolt_proxy
from tests.support.running import serve

SIZE = 100
PATIENCE = 90.0
SHAPES = (
    "MATCH (d:Document {ontology: 'notes'}) "
    "RETURN d.sources AS told, COUNT { (d)-[:IN_ONTOLOGY]->(:Ontology) } AS ontologies, "
    "COUNT { (d)<-[:PART_OF]-(:Source) } AS parts, count(*) AS documents"
)
SOURCES = (
    "MATCH (s:Source {ontology: 'notes'}) RETURN count(s) AS n, count(DISTINCT s.document_id) AS documents"
)


def batch_of(number: int) -> list[dict[str, str]]:
    return [
        {"ontology": "notes", "document": f"{number}-{at}.txt", "text": f"Note {at} of batch {number}.\n"}
        for at in range(SIZE)
    ]


def send(url: str, batch: list[dict[str, str]]) -> httpx.Response | None:
    try:
        return httpx.post(f"{url}/documents/batch", json={"documents": batch}, timeout=60)
    except httpx.TransportError:
        return None


def send_until_stored(url: str, batch: list[dict[str, str]]) -> list[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = send(url, batch)
        if answer is not None and answer.is_success:
            told = [each["ingested"] for each in answer.json()["outcomes"]]
            if all(told):
                return told
        assert answer is None or answer.is_success or answer.status_code == 503, answer.text
        assert time.monotonic() < deadline, "it was not stored"
        time.sleep(0.2)


def assert_stored_once(url: str, driver: neo4j.Driver, batches: list[list[dict[str, str]]]) -> None:
    documents = len(batches) * SIZE
    assert rows(driver, SHAPES) == [{"told": 1, "ontologies": 1, "parts": 1, "documents": documents}]
    assert rows(driver, SOURCES) == [{"n": documents, "documents": documents}]
    for batch in batches:
        assert {each["change"] for each in send_until_stored(url, batch)} == {"unchanged"}
    assert rows(driver, SOURCES) == [{"n": documents, "documents": documents}]


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(900)])])
def test_service_killed_within_a_batch_loses_nothing(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path, kills: int
) -> None:
    dice = random.Random(34)
    batches = [batch_of(number) for number in range(kills)]
    for batch in batches:
        service = serve(server, tmp_path)
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(send, service.url, batch)
            time.sleep(dice.uniform(0.05, 1.0))  # storing it takes about as long
            service.kill()
            answer = sent.result()
        tell(f"{answer and answer.status_code}, stored: {rows(driver, SOURCES)[0]['n']}")
    service = serve(server, tmp_path)
    try:
        for batch in batches:
            assert len({each["change"] for each in send_until_stored(service.url, batch)}) == 1, "all or none"
        assert_stored_once(service.url, driver, batches)
    finally:
        service.kill()
    (job,), total = read_jobs_page(graph, state=None, kind=None, ontology="notes", offset=0, limit=9)
    assert (total, job.total) == (1, kills * SIZE)


def test_lost_commit_response_of_a_batch_is_recovered(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    """The service should find that the documents are stored, and return the same response."""
    with bolt_proxy(server.uri) as proxy:
        service = serve(replace(server, uri=proxy.uri), tmp_path)
        try:
            proxy.cut([1])
            told = send_until_stored(service.url, batch_of(0))
        finally:
            service.kill()
    assert proxy.cuts == 1
    assert {each["change"] for each in told} == {"created"}
    assert rows(driver, SOURCES) == [{"n": SIZE, "documents": SIZE}]
    (job,), _ = read_jobs_page(graph, state=None, kind=None, ontology="notes", offset=0, limit=9)
    assert ({each["job_id"] for each in told}, job.total) == ({job.job_id}, SIZE)
