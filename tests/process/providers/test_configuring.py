"""How an ontology is embedded: shown, set, tried, counted beforehand; nothing is embedded twice (B8, C9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.world import World
from tests.support.embedders import CALIBRATING
from tests.support.running import wait_until

TEXT = "# One\n\nThe red fox sleeps. It is winter.\n\n# Two\n\nThe badger digs. It is deep.\n"
LONG = TEXT + "".join(f"The mole numbered {n} reads on. " for n in range(100))
DOLLAR = 1e-6
"""Prices are told to a millionth."""
FIRST = {"strategy": "paragraph", "space": "default", "embed_on_ingest": True}
USUAL = {"chunk_size": 400, "overlap": None, "parent_size": None, "context": "none", "context_template": None}
STRATEGIES = ("paragraph", "hierarchical")
SPACES = ("together", *(f"cached_{strategy}" for strategy in STRATEGIES))
"""One for each test, all made before the first: each index that is made lets Neo4j plan all anew."""
Json = dict[str, Any]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes leave their figures for each other."""
    return tmp_path_factory.mktemp("metrics")


@pytest.fixture(scope="module")
def world(open_world: OpenWorld, shared: Path) -> World:
    world = open_world(PROMETHEUS_MULTIPROC_DIR=str(shared))
    new = {"slug": "paid", "provider": "openai", "model": "text-embedding-3-small", "dimensions": 64}
    world.ask("POST", "/embedding/spaces", 201, json=new)
    for name in SPACES:
        world.space(name)
    return world


@pytest.fixture
def client(world: World) -> KgClient:
    return KgClient(world.service.url)


def config(world: World, ontology: str, *options: str) -> Json:
    return world.kg_json("admin", "source-embeddings", "config", "--ontology", ontology, *options)


def test_a_client_configures_an_ontology_and_is_told_what_follows(world: World, client: KgClient) -> None:
    world.embedded("told", LONG)
    with client:
        shown = client.embedding_config("told")
        assert (shown.config.model_dump(), shown.dimensions, shown.applied) == ({**FIRST, **USUAL}, 256, True)
        assert (shown.total, shown.missing, shown.stale) == (shown.embedded, 0, 0)
        tried = client.set_embedding_config(
            "told", dry_run=True, strategy="sentence", chunk_size=8, space="paid"
        )
        assert (tried.applied, tried.config.space, tried.dimensions) == (False, "paid", 64)
        assert tried.missing + tried.stale == shown.total
        cost = tried.regeneration
        assert (cost.documents, cost.sources) == (1, shown.total)
        assert cost.chunks > 100
        assert cost.tokens > 600
        assert cost.price == pytest.approx(cost.tokens * 0.02 / 1e6, abs=DOLLAR)
        assert client.embedding_config("told") == shown, "a trial changes nothing"
        assert client.jobs(ontology="told", state="queued").total == 0
        done = client.set_embedding_config("told", strategy="sentence", chunk_size=8)
        assert (done.applied, done.stale, done.missing) == (True, shown.total, 0)
        (job,) = client.jobs(ontology="told", limit=1).jobs
        assert any(job.job_id in note for note in done.notes)
        world.until_job(job.job_id)
        after = client.embedding_config("told")
        assert (after.config.strategy, after.embedded, after.stale) == ("sentence", shown.total, 0)
        assert after.regeneration.sources == 0
    hit = world.search("mole numbered 77", ontology="told", limit=1)["sources"][0]
    assert (hit["chunk"]["text"], len(hit["full_text"]) > 500) == ("The mole numbered 77 reads on.", True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"strategy": "sentence", "chunk_size": 4}, "chunk_size of sentence is from 5 to 200 words, not 4"),
        ({"space": "nowhere"}, "the embedding space 'nowhere' does not exist"),
        (
            {"space": "paid", "context": "late"},
            "returns one for a whole text. Choose a space of a local model",
        ),
        ({"size": 3}, "size"),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(
    world: World, client: KgClient, wrong: Json, told: str
) -> None:
    world.configure("kept", strategy="count", chunk_size=100)
    before = world.ask("GET", "/ontologies/kept/embedding-config")
    problem = world.ask("PUT", "/ontologies/kept/embedding-config", 422, json=wrong)
    assert told in problem["detail"]
    with client, pytest.raises(TypeError if "size" in wrong else InvalidInput):  # it has no such option
        client.set_embedding_config("kept", **wrong)
    assert world.ask("GET", "/ontologies/kept/embedding-config") == before


def test_a_person_has_chunks_read_among_their_neighbours(world: World) -> None:
    world.embedded("late", LONG)
    plain = config(world, "late", "--strategy", "sentence", "--dry-run")["regeneration"]
    tried = config(world, "late", "--strategy", "sentence", "--context", "late", "--dry-run")
    assert (tried["applied"], tried["config"]["context"]) == (False, "late")
    assert tried["regeneration"]["tokens"] > 1.5 * plain["tokens"], "each chunk is read twice"
    done = config(world, "late", "--strategy", "sentence", "--context", "late")
    (job_id,) = [job["job_id"] for job in world.ask("GET", "/jobs?ontology=late&limit=1")["jobs"]]
    world.until_job(job_id)
    after = config(world, "late")
    assert (after["config"]["context"], after["embedded"], after["stale"]) == ("late", done["total"], 0)
    hit = world.search("mole numbered 77", ontology="late", limit=1)["sources"][0]
    assert "numbered 77" in hit["chunk"]["text"]


def test_embedding_at_ingestion_is_off_and_started_by_hand(world: World) -> None:
    off = config(world, "by_hand", "--no-on-ingest", "--create")
    assert (off["config"]["embed_on_ingest"], off["total"]) == (False, 0)
    assert world.ingest("by_hand", TEXT)["job_id"] is None
    assert world.status("by_hand") == {"total": 2, "embedded": 0, "missing": 2, "stale": 0}
    assert len(world.search("badger", ontology="by_hand")["sources"]) == 1
    changed = config(world, "by_hand", "--strategy", "sentence")
    assert (changed["config"]["embed_on_ingest"], changed["missing"]) == (False, 2)
    assert any("kg admin source-embeddings generate" in note for note in changed["notes"])
    assert world.ask("GET", "/jobs?ontology=by_hand")["total"] == 0
    started = world.kg_json("admin", "source-embeddings", "generate", "--ontology", "by_hand")
    assert started["due"] == 2
    world.until_job(started["job_id"])
    status = world.kg_json("admin", "source-embeddings", "status", "--ontology", "by_hand")
    assert (status["embedded"], status["missing"]) == (2, 0)
    again = world.kg("admin", "source-embeddings", "generate", "--ontology", "by_hand")
    assert (again.returncode, "No source is pending" in again.stdout + again.stderr) == (0, True)


def test_a_preview_counts_and_neither_stores_nor_asks(world: World, client: KgClient, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_ontology_that_comes_back_is_not_embedded_again(world: World, strategy: str) -> None:
    model = world.provider.model(f"cached_{strategy}")
    stored_and_deleted(world, "before", model.name, strategy)
    asked = model.passages
    assert asked
    stored_and_deleted(world, "after", model.name, strategy)
    assert model.passages == asked, "the same text in the same space was sent again"


def stored_and_deleted(world: World, ontology: str, space: str, strategy: str) -> None:
    world.configure(ontology, space=space, strategy=strategy)
    world.embedded(ontology, TEXT)
    assert world.status(ontology)["embedded"] == 2
    world.ask("DELETE", f"/ontologies/{ontology}")


def test_what_it_took_is_told_by_the_service_for_all_processes(world: World, shared: Path) -> None:
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
