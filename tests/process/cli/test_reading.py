"""Tests for searching, listing, and reading. People get 80 columns, and programs get the REST response
(SPEC I)."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.jobs import request_job
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service

PASSAGE = (
    "# Leases\n\nA worker renews its lease every ten seconds.\n\n"
    "## Heartbeats\n\nA heartbeat [bold]is[/bold] a sign of life; a lost one is noticed.\n\n"
    "## Fences\n\nEach claim raises the fence, and every later write is checked against it.\n"
)


@pytest.fixture(scope="module")
def rest(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[httpx.Client]:
    wipe(driver)
    with KgClient(service.url) as client:
        client.ingest_text(PASSAGE, ontology="handbook", document="leases.md")
        client.ingest_text("A long report. " * 60, ontology="handbook", document="report.md")
        client.ingest_text("Bread needs flour, water and time.\n", ontology="kitchen", document="bread.txt")
    run_jobs(migrated_graph)
    migrated_graph.transaction(lambda tx: request_job(tx, "test", "handbook", added=3))
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


SAME = {
    "documents": (
        "/documents?offset=1&limit=1&ontology=handbook",
        ["documents", "--offset", "1", "-n", "1", "-o", "handbook"],
    ),
    "jobs": (
        "/jobs?kind=test&state=queued&limit=20",
        ["jobs", "list", "--kind", "test", "--state", "queued"],
    ),
    "a source": ("/sources/{source}/context?window_size=1", ["show", "{source}", "--window", "1"]),
}
"""REST routes and the commands that should have the same output."""


@pytest.mark.parametrize("name", SAME)
def test_json_is_the_rest_answer(kg: Kg, rest: httpx.Client, name: str) -> None:
    path, command = SAME[name]
    source = a_source(rest)["source_id"]
    ran = kg(*(each.format(source=source) for each in command), "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == rest.get(path.format(source=source)).raise_for_status().json()
    assert "\x1b" not in ran.stdout, "no colours for programs"


def a_source(rest: httpx.Client) -> dict[str, Any]:
    found = rest.post("/queries/sources/search", json={"query_text": "heartbeat", "ontology": "handbook"})
    return found.json()["sources"][0]


def test_a_search_as_json_is_the_rest_answer(kg: Kg, rest: httpx.Client) -> None:
    body: dict[str, object] = {"query_text": "sign of life", "ontology": ["handbook", "kitchen"], "limit": 3}
    body |= {"documents": ["leases.md"], "min_similarity": 0.1}
    rest.post("/queries/sources/search", json=body)  # so that both know the words of the question
    chosen = ("-o", "handbook", "-o", "kitchen", "--limit", "3", "--document", "leases.md")
    ran = kg("search", "sign of life", *chosen, "--min-similarity", "0.1", "--json")
    assert ran.returncode == 0, ran.stderr
    told, expected = json.loads(ran.stdout), rest.post("/queries/sources/search", json=body).json()
    assert told.pop("timings_ms").keys() == expected.pop("timings_ms").keys()
    assert told == expected
    assert told["sources"], "something is found, else this says nothing"


def test_a_hit_is_shown_and_opened_by_its_number(kg: Kg, rest: httpx.Client) -> None:
    search = ("search", "a sign of life", "--limit", "1", "--page", "2")
    assert kg(*search).stdout.startswith(" 2  ")
    (hit,) = json.loads(kg(*search, "--json").stdout)["sources"]
    assert hit["source_id"] in kg("show", "2", "--json").stdout
    assert "hit 1 not found: the last search has hits 2" in kg("show", "1").stderr
    opened = kg("open", "2", env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""})
    assert (opened.returncode, opened.stderr) == (0, "")
    assert rest.get(opened.stdout.strip()).status_code == 200
    assert kg("open", "1").returncode == 4
    assert kg("open", "2", env={"KG_API_URL": "http://127.0.0.1:1"}).returncode == 69
    assert kg("open", "handbook/leases.md#1").stdout.endswith("at=1#p1\n")
