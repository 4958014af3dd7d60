"""Tests that create spaces, measure their requests, and preview the cost (SPEC C9)."""

import json
from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.local.processes import find_free_port
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import World
from tests.support.behaviours import Status

METRICS_PORT = find_free_port()
SMALL = {"slug": "small", "provider": "openai", "model": "text-embedding-3-small", "dimensions": 64}
LONG = "# One\n\nThe red fox sleeps.\n\n# Two\n\n" + "".join(
    f"Mole {n} reads on in the dark. " for n in range(100)
)
DOLLAR = 1e-6
"""Round a price to a millionth."""


@pytest.fixture(scope="module")
def world(open_world: OpenWorld) -> World:
    world = open_world(
        KG_WORKER__METRICS_PORT=str(METRICS_PORT), OPENAI_BATCH_SIZE="50", KG_EMBEDDING__QUERY_SECONDS="1"
    )
    world.ask("POST", "/embedding/spaces", 201, json=SMALL)
    return world


@pytest.mark.parametrize(
    ("failure", "status", "told"),
    [
        pytest.param(Status(401), 422, "Set OPENAI_API_KEY", id="a wrong key"),
        pytest.param(Status(503), 503, "returned 503", id="down"),
    ],
)
def test_space_is_created_once_its_model_responds(
    world: World, failure: Status, status: int, told: str
) -> None:
    model = world.provider.model(f"fails_{failure.status}")
    new = {"slug": model.name, "provider": "openai", "model": model.name, "dimensions": 64}
    model.always = failure
    assert told in world.ask("POST", "/embedding/spaces", status, json=new)["detail"]
    model.always = None
    world.ask("POST", "/embedding/spaces", 201, json=new)


def test_service_and_worker_report_their_own_metrics(world: World) -> None:
    world.configure("on_small", space="small")
    world.embedded("on_small", "The red fox sleeps in the barn.")
    model = world.space("counted")
    model.always = Status(400)
    world.configure("failing", space="counted", embed_on_ingest=False)
    before = world.metrics()
    world.search("blue whale", ontology="on_small")  # nobody has asked that before: it is embedded
    world.search("blue whale", ontology="failing")
    service = world.metrics()
    labels = 'model="text-embedding-3-small"'
    grown = {name: service[name] - before.get(name, 0.0) for name in service}
    assert grown[f'embeddings_total{{dimensions="64",{labels}}}'] == 1
    assert grown[f"embedding_latency_seconds_count{{{labels}}}"] == 1
    assert 0 < grown[f"embedding_latency_seconds_sum{{{labels}}}"] < 5
    assert grown[f"embedding_tokens_total{{{labels}}}"] == 2
    assert grown['embedding_errors_total{type="invalid-input"}'] == 1
    worker = world.metrics(f"http://127.0.0.1:{METRICS_PORT}/metrics")
    assert worker[f'embeddings_total{{dimensions="64",{labels}}}'] >= 1, "a passage; probes are counted apart"
    assert worker[f"embedding_tokens_total{{{labels}}}"] > 2
    assert not any("failing" in name for name in worker)


def test_preview_counts_without_storing_or_requesting(world: World, tmp_path: Path) -> None:
    world.configure("dear", space="small")
    asked = len(world.provider.requests)
    body = {"ontology": "dear", "document": "a.md", "text": LONG}
    told = world.ask("POST", "/documents/preview", json=body)
    assert (told["change"], told["sources"]["kept"], told["sources"]["removed"]) == ("created", 0, 0)
    assert (told["config"]["space"], told["cost"]["chunks"]) == ("small", told["sources"]["added"])
    assert told["cost"]["price"] == pytest.approx(told["cost"]["tokens"] * 0.02 / 1e6, abs=DOLLAR)
    assert told["cost"]["price"] > 5 * DOLLAR
    with KgClient(world.service.url) as client:
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
