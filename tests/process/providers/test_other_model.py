"""Tests that vectors are not mixed if a provider changes the model under the same name (SPEC D6)."""

import time
from pathlib import Path

import neo4j
import pytest

from kg_api.errors import ConfigurationError
from kg_api.local.processes import find_free_port
from tests.process.providers.conftest import OpenWorld
from tests.process.providers.provider import Model
from tests.process.providers.world import World, effects, quick
from tests.support.behaviours import Status
from tests.support.cypher import rows
from tests.support.providers import CANARY
from tests.support.running import environment, serve, started, wait_until

SETTINGS = {
    "KG_EMBEDDING__PROVIDER": "openai",
    "OPENAI_EMBED_MODEL": "changing",
    "OPENAI_EMBED_DIMS": "64",
    "KG_EMBEDDING__QUERY_SECONDS": "1",
}
EXPLAINED = "another model responds for the space 'default' (openai changing (64 dimensions"
VECTORS = "MATCH (s:Source {ontology: $name}) RETURN s.document AS document, s.embedding AS vector"


@pytest.fixture(scope="module")
def world(open_world: OpenWorld) -> World:
    return open_world(**SETTINGS)


@pytest.fixture
def model(world: World) -> Model:
    return world.provider.model("changing")


def test_job_with_changed_model_fails_with_reason(world: World, model: Model, driver: neo4j.Driver) -> None:
    world.embedded("notes", "The old model reads of foxes.")
    before = rows(driver, VECTORS, name="notes")
    model.turned = True
    job_id = world.ingest("notes", "The new one reads of badgers.", "b.md")["job_id"]
    dead = world.until_job(job_id, lambda job: job["error"] is not None)
    assert (dead["state"], dead["attempts"], dead["done"]) == ("failed", 1, 0)
    assert EXPLAINED in dead["error"]
    assert "Restore the former model, or add a space" in dead["error"]
    after = {row["document"]: row["vector"] for row in rows(driver, VECTORS, name="notes")}
    assert after == {before[0]["document"]: before[0]["vector"], "b.md": None}
    model.turned = False
    world.ask("POST", "/ontologies/notes/embeddings", 202)
    wait_until(lambda: world.status("notes")["missing"] == 0, 20)


@pytest.mark.parametrize("searches", [10, pytest.param(30, marks=pytest.mark.full)])
def test_searches_detect_changed_model_and_recover(world: World, model: Model, searches: int) -> None:
    """G35: after the change has been detected, vectors are not used until the old model is used again."""
    world.embedded("searched", "The old model reads of foxes.")
    asked = {"ontology": "searched", "mode": "vector"}
    assert world.search("foxes", **asked)["mode"] == "vector"
    model.turned, turned_at = True, time.monotonic()
    wait_until(lambda: world.search("foxes", **asked)["mode"] == "text", 30)
    assert time.monotonic() - turned_at < 20
    for _ in range(searches):
        told = world.search("foxes", **asked)
        assert (told["mode"], told["spaces"]) == ("text", [])
        assert EXPLAINED in effects(told)
        time.sleep(0.3)
    concepts = world.ask("GET", "/concepts/search", params={"query_text": "foxes"})
    assert EXPLAINED in effects(concepts)
    ready = world.ask("GET", "/ready")
    assert [each["detail"] for each in ready["checks"] if not each["ok"] and EXPLAINED in each["detail"]]
    assert EXPLAINED in world.ask("POST", "/embedding/health")["spaces"][0]["error"]
    model.turned = False
    wait_until(lambda: world.search("foxes", **asked)["mode"] == "vector", 20)
    assert world.search("foxes", **asked)["degraded"] == []
    assert all(each["ok"] for each in world.ask("GET", "/ready")["checks"])


def test_service_and_worker_do_not_start_with_it(world: World, model: Model, tmp_path: Path) -> None:
    world.embedded("start", "The old model reads of foxes.")
    model.turned = True
    env = {**quick(world.provider, tmp_path), **SETTINGS, "KG_API__PORT": str(find_free_port())}
    for command in ("serve", "worker"):
        with started([command], environment(world.server, **env), tmp_path / f"{command}.log") as running:
            assert running.process.wait(60) == ConfigurationError.exit_code, running.output()
        told = " ".join(running.output().split())
        assert all(each in told for each in (EXPLAINED, "has the cosine", "kg admin spaces create")), told
        assert "Traceback" not in told
        assert CANARY not in told


def test_provider_unavailable_at_start_is_checked_later(world: World, model: Model, tmp_path: Path) -> None:
    """You can start the service and the worker without the provider. The vectors are then checked
    later."""
    world.embedded("late", "The old model reads of foxes.")
    model.always = Status(503)
    env = {**quick(world.provider, tmp_path), **SETTINGS}
    with started(["worker"], environment(world.server, **env), tmp_path / "worker.log") as worker:
        service = serve(world.server, tmp_path, **env)
        try:
            wait_until(lambda: "worker starts" in worker.output(), 30, worker.output)
            model.turned, model.always = True, None
            answer = world.http.post(
                f"{service.url}/queries/sources/search", json={"query_text": "foxes", "ontology": "late"}
            ).json()
        finally:
            service.kill()
        assert "searching by full text only until the embedding model answers" in worker.output()
    assert (answer["mode"], len(answer["sources"])) == ("text", 1)
    assert EXPLAINED in answer["degraded"][0]["effect"]
