import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.folders import find_folder
from kg_api.schemas.folders import build_folder_grant
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, environment, serve, started_worker, wait_until
from tests.support.sync import documents, follow, put

CLOSED = {"KG_SYNC__ROOTS": ""}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def closed(server: Neo4jServer, place: Path) -> Iterator[Service]:
    service = serve(server, place, **CLOSED)
    env = environment(server, **CLOSED, KG_HOME=str(place / "home"), KG_WORKER__TICK_SECONDS="1")
    with started_worker(env, place / "worker.log"):
        yield service
    assert service.stop() == 0, service.output()


@pytest.fixture
def rest(closed: Service, graph: Graph) -> Iterator[httpx.Client]:
    del graph
    with httpx.Client(base_url=closed.url, timeout=60) as client:
        yield client


@pytest.fixture
def own(kg: Kg, closed: Service, place: Path) -> Callable[..., Any]:
    """Run `kg` on the same machine and with the same home as the service."""
    env = {"KG_API_URL": closed.url, "KG_HOME": str(place / "home")}
    return lambda *arguments: kg(*arguments, env=env)


def refusal(rest: httpx.Client, path: Path, **headers: str) -> str:
    answer = rest.post("/folders", json={"path": str(path), "ontology": "notes"}, headers=headers)
    assert answer.status_code == 422, answer.text
    assert rest.get("/folders").json() == {"folders": []}
    return answer.json()["detail"]


def test_rest_syncs_no_folder_without_a_configured_root(
    rest: httpx.Client, place: Path, tmp_path: Path
) -> None:
    """Finding B1: you could use GET /documents to get tokens from private files."""
    put(tmp_path, notes__a="1", **{".aws__credentials": "AKIA", "home__.config__token": "secret"})
    for path in (tmp_path / "notes", tmp_path, Path("/"), Path("/etc")):
        assert "KG_SYNC__ROOTS" in refusal(rest, path)
    assert "hidden" in refusal(rest, tmp_path / ".aws")
    assert "KG_HOME" in refusal(rest, place / "home")
    assert "KG_SYNC__ROOTS" in refusal(rest, tmp_path / "notes", **{"KG-Folder-Grant": "0" * 64})


def test_cli_of_the_same_home_syncs_user_folder(
    rest: httpx.Client, own: Kg, place: Path, tmp_path: Path, graph: Graph
) -> None:
    put(tmp_path, notes__a="The canary sings.\n", **{"notes__.private__key": "secret"})
    added = own("folders", "add", str(tmp_path / "notes"), "--ontology", "notes", "--wait", "--json")
    assert added.returncode == 0, added.stderr
    assert (json.loads(added.stdout)["right"], list(documents(graph))) == ("owner", ["a.md"])
    key = place / "home" / "folder-key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    grant = build_folder_grant(key.read_text().strip(), str(tmp_path / "notes"), "notes")
    logs = [each.read_text() for each in place.glob("*.log")]
    for output in (rest.get("/folders").text, *logs):
        assert key.read_text().strip() not in output
        assert grant not in output


@pytest.mark.usefixtures("rest")
def test_worker_rejects_grants_of_another_home(
    own: Kg, tmp_path: Path, graph: Graph, driver: neo4j.Driver
) -> None:
    """If you can use the database or another home, you should not be able to read files on this
    machine."""
    put(tmp_path, notes__a="1")
    followed = follow(graph, tmp_path / "notes")
    driver.execute_query(
        "MATCH (f:Folder) SET f.grant = $grant", grant=build_folder_grant("guess", "/", "notes")
    )
    wait_until(lambda: find_folder(graph, followed).error is not None, 30)
    assert documents(graph) == {}
    assert "failed:" in own("folders", "list").stdout
