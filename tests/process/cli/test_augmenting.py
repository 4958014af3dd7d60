from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service

LEASES = "A worker renews its lease every ten seconds, and a lease that is lost goes to another worker."
BEES = "Bees dance [bold]to tell[/bold] the others where flowers are, and honey is made of nectar."
TALK = [
    {"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": LEASES},
    {"author": "Bob", "text": "# Never!"},
]


@pytest.fixture(scope="module")
def rest(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[httpx.Client]:
    wipe(driver)
    with KgClient(service.url) as client:
        client.ingest_text(LEASES, ontology="handbook", document="leases.txt")
        client.ingest_text(BEES, ontology="handbook", document="bees.txt")
    run_jobs(migrated_graph)
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


@pytest.fixture
def draft(tmp_path: Path) -> str:
    path = tmp_path / "draft.md"
    path.write_text(f"{LEASES}\n\n{BEES}\n", encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("rest")
def test_augment_prints_context_and_writes_notes_to_stderr(kg: Kg, draft: str) -> None:
    ran = kg("augment", draft, "-o", "handbook", "--min-similarity", "0.3")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("### 1. handbook / ")
    assert f"> {BEES}\n" in ran.stdout, "marks are no styles"
    assert "2 passages" in ran.stderr


def test_json_is_the_rest_answer(kg: Kg, rest: httpx.Client, draft: str) -> None:
    text = Path(draft).read_text(encoding="utf-8")
    body = {"text": text, "ontology": ["handbook"], "min_similarity": 0.3, "limit": 1, "deduplicate": True}
    ran = kg(
        "augment",
        "-o",
        "handbook",
        "--min-similarity",
        "0.3",
        "-n",
        "1",
        "--deduplicate",
        "--json",
        stdin=text,
    )
    assert ran.returncode == 0, ran.stderr
    told, expected = json.loads(ran.stdout), rest.post("/queries/augment", json=body).json()
    assert told.pop("timings_ms").keys() == expected.pop("timings_ms").keys()
    assert told == expected
    assert told["counts"]["beyond_limit"] == 1


@pytest.mark.usefixtures("rest")
def test_conversation_is_ingested_and_augmented(kg: Kg, tmp_path: Path) -> None:
    listed, lines = tmp_path / "talk.json", tmp_path / "talk.jsonl"
    listed.write_text(json.dumps({"messages": TALK}), encoding="utf-8")
    lines.write_text("\n".join(map(json.dumps, TALK)) + "\n", encoding="utf-8")
    ran = kg("conversation", str(listed), "-o", "talks", "-t", "Standup")
    assert ran.returncode == 0, ran.stderr
    assert "talks / Standup: created, 2 sources added" in ran.stdout
    again = kg("conversation", str(lines), "-o", "talks", "-t", "Standup", "--json")
    assert json.loads(again.stdout)["change"] == "unchanged"
    one = kg("conversation", "-", "-o", "talks", "-t", "One", stdin=json.dumps(TALK[0]))
    assert "1 source added" in one.stdout
    found = kg("augment", str(lines), "--messages", "-o", "handbook", "--min-similarity", "0.3", "--json")
    assert [each["document"] for each in json.loads(found.stdout)["records"]] == ["leases.txt"]
