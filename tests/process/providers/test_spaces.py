"""Tests with several models: a search sends one request, vectors are not mixed (SPEC C6, C10), and you
can preview the cost (C9)."""

from __future__ import annotations

import json
from pathlib import Path

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.local.processes import find_free_port
from kg_api.spaces.open_spaces import PROBE_TEXT
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import World, effects, parts
from tests.support.behaviours import Status
from tests.support.cypher import rows

METRICS_PORT = find_free_port()
SMALL = {"slug": "small", "provider": "openai", "model": "text-embedding-3-small", "dimensions": 64}
LARGE = {"slug": "large", "provider": "deterministic", "dimensions": 512}
SIZES = """
MATCH (s:Source {ontology: $name})
RETURN size(s.embedding) AS first, size(s.embedding_small) AS small, size(s.embedding_large) AS large
"""
PROBLEM = "application/problem+json"
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
    world.ask("POST", "/embedding/spaces", 201, json=LARGE)
    return world


@pytest.fixture(scope="module")
def filled(world: World) -> World:
    world.configure("on_small", space="small")
    world.configure("on_large", space="large")
    world.embedded("on_small", "The red fox sleeps in the barn.")
    world.embedded("on_large", "The red fox hunts at night.")
    world.embedded("on_first", "The red fox eats an apple.")
    return world


def test_search_across_spaces_queries_each_once(filled: World, driver: neo4j.Driver) -> None:
    before, asked = filled.metrics(), len(filled.provider.requests)
    answer = filled.search("red fox", ontology=["on_small", "on_large"])
    after = filled.metrics()
    counted = {name: after[name] - before.get(name, 0.0) for name in after if "embeddings_total{" in name}
    assert {name: value for name, value in counted.items() if value} == {
        'embeddings_total{dimensions="64",model="text-embedding-3-small"}': 1.0,
        'embeddings_total{dimensions="512",model="word-hash"}': 1.0,
    }
    (request,) = filled.provider.requests[asked:]
    assert (request.body["input"][0], request.body["dimensions"]) == ("red fox", 64)
    assert request.body["input"][1:] in ([], [PROBE_TEXT]), "a look at the model costs no request"
    assert (answer["space"], sorted(answer["spaces"]), parts(answer)) == (None, ["large", "small"], [])
    found = {hit["ontology"]: (hit["space"], hit["similarity"] is not None) for hit in answer["sources"]}
    assert found == {"on_small": ("small", True), "on_large": ("large", True)}
    assert filled.search("red fox", ontology="on_small")["space"] == "small"
    sizes = {name: rows(driver, SIZES, name=name) for name in ("on_small", "on_large", "on_first")}
    assert sizes == {
        "on_small": [{"first": None, "small": 64, "large": None}],
        "on_large": [{"first": None, "small": None, "large": 512}],
        "on_first": [{"first": 256, "small": None, "large": None}],
    }


def test_one_space_that_is_down_leaves_the_others(world: World) -> None:
    model = world.space("one_down")
    world.configure("on_one_down", space="one_down")
    world.configure("up", space="large")
    world.embedded("on_one_down", "A badger digs.")
    world.embedded("up", "A badger snores.")
    model.always = Status(401)
    answer = world.search("badger", ontology=["on_one_down", "up"])
    assert (answer["mode"], answer["space"], answer["spaces"]) == ("hybrid", "large", ["large"])
    assert {hit["ontology"] for hit in answer["sources"]} == {"on_one_down", "up"}
    assert parts(answer) == ["embedding"]
    assert "in the space 'one_down'" in effects(answer)
    health = world.ask("POST", "/embedding/health")
    found = {each["slug"]: each for each in health["spaces"]}
    assert health["status"] == "error"
    assert {slug for slug, each in found.items() if each["status"] == "error"} == {"one_down"}
    assert "Set OPENAI_API_KEY" in found["one_down"]["error"]
    assert all(each["latency_ms"] >= 0 for slug, each in found.items() if slug != "one_down")
    told = world.kg("admin", "spaces", "health", "--json")
    assert (told.returncode, '"one_down"' in told.stdout) == (69, True)
    model.always = None
    assert world.kg("admin", "spaces", "health").returncode == 0


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({"dimensions": 32}, 409, "already exists for openai text-embedding-3-small (64 dimensions"),
        ({"slug": "default"}, 422, "word-hash"),
        ({"slug": "a`; DROP"}, 422, "slug"),
        ({"slug": "new", "dimensions": 2000}, 422, "1 to 1536 dimensions, not 2000"),
        ({"slug": "new", "provider": "nomic", "model": None}, 422, "NOMIC_API_KEY is not set"),
    ],
)
def test_invalid_space_is_rejected(world: World, changed: dict[str, object], status: int, told: str) -> None:
    before = world.ask("GET", "/embedding/spaces")
    response = world.http.post("/embedding/spaces", json={**SMALL, **changed})
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text
    assert told in response.json()["detail"]
    assert world.ask("GET", "/embedding/spaces") == before


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


def test_service_and_worker_report_their_own_metrics(filled: World) -> None:
    model = filled.space("counted")
    model.always = Status(400)
    filled.configure("failing", space="counted", embed_on_ingest=False)
    before = filled.metrics()
    filled.search("blue whale", ontology="on_small")  # nobody has asked that before: it is embedded
    filled.search("blue whale", ontology="failing")
    service = filled.metrics()
    labels = 'model="text-embedding-3-small"'
    grown = {name: service[name] - before.get(name, 0.0) for name in service}
    assert grown[f'embeddings_total{{dimensions="64",{labels}}}'] == 1
    assert grown[f"embedding_latency_seconds_count{{{labels}}}"] == 1
    assert 0 < grown[f"embedding_latency_seconds_sum{{{labels}}}"] < 5
    assert grown[f"embedding_tokens_total{{{labels}}}"] == 2
    assert grown['embedding_errors_total{type="invalid-input"}'] == 1
    worker = filled.metrics(f"http://127.0.0.1:{METRICS_PORT}/metrics")
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
