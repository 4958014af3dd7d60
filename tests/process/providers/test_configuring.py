"""An ontology's configuration: set, preview, and cost. Nothing is embedded twice (B8, C9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import World
from tests.support.embedders import CALIBRATING
from tests.support.running import wait_until

TEXT = "# One\n\nThe red fox sleeps. It is winter.\n\n# Two\n\nThe badger digs. It is deep.\n"
LONG = TEXT + "".join(f"The mole numbered {n} reads on. " for n in range(100))
DOLLAR = 1e-6
"""Prices have a precision of one millionth."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes leave their figures for each other."""
    return tmp_path_factory.mktemp("metrics")


@pytest.fixture(scope="module")
def world(open_world: OpenWorld, shared: Path) -> World:
    world = open_world(PROMETHEUS_MULTIPROC_DIR=str(shared))
    new = {"slug": "paid", "provider": "openai", "model": "text-embedding-3-small", "dimensions": 64}
    world.ask("POST", "/embedding/spaces", 201, json=new)
    world.space("together")
    return world


@pytest.fixture
def client(world: World) -> KgClient:
    return KgClient(world.service.url)


def test_preview_counts_without_storing_or_requesting(world: World, client: KgClient, tmp_path: Path) -> None:
    world.configure("dear", space="paid")
    asked = len(world.provider.requests)
    body = {"ontology": "dear", "document": "a.md", "text": LONG}
    told = world.ask("POST", "/documents/preview", json=body)
    assert (told["change"], told["sources"]["kept"], told["sources"]["removed"]) == ("created", 0, 0)
    assert (told["config"]["space"], told["cost"]["chunks"]) == ("paid", told["sources"]["added"])
    assert told["cost"]["price"] == pytest.approx(told["cost"]["tokens"] * 0.02 / 1e6, abs=DOLLAR)
    assert told["cost"]["price"] > 5 * DOLLAR
    with client:
        assert client.preview_text(LONG, ontology="dear", document="a.md").model_dump(mode="json") == told
        assert client.preview_text(LONG, ontology="never", document="a.md").cost.price == 0
        with pytest.raises(NotFound):
            client.embedding_config("never")
    (tmp_path / "a.md").write_text(LONG)
    command = ("ingest", str(tmp_path), "--ontology", "dear", "--preview")
    stopped = world.kg(*command)
    assert stopped.returncode == 3
    assert "nothing is stored yet" in stopped.stdout
    assert json.loads(world.kg(*command, "--json").stdout)["cost"] == told["cost"]
    assert world.ask("GET", "/documents?ontology=dear")["total"] == 0
    assert len(world.provider.requests) == asked
    gone_on = world.kg(*command, "--yes", "--wait")
    assert gone_on.returncode == 0
    assert world.status("dear")["embedded"] == told["sources"]["added"]


def test_metrics_sum_all_processes(world: World, shared: Path) -> None:
    name = 'embeddings_total{dimensions="64",model="together"}'
    shown = len(CALIBRATING)
    wait_until(lambda: world.metrics()[name] == shown, 20)  # what it is shown once
    world.configure("together", space="together")
    world.embedded("together", TEXT)
    world.search("fox", ontology="together")
    found = world.metrics()
    assert found[name] == shown + 2 + 1, "two sources, and a question too"
    assert found['embedding_latency_seconds_count{model="together"}'] == 3
    assert found['embedding_tokens_total{model="together"}'] > 10
    assert len(list(shared.glob("counter_*.db"))) == 2
