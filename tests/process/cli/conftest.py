import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.support import forked
from tests.support.embedders import small_embedder
from tests.support.running import Service, environment, serve, started_worker

Kg = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="package")
def service(
    server: Neo4jServer, driver: neo4j.Driver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    wipe(driver)  # what tests elsewhere left may be of another model
    folder = tmp_path_factory.mktemp("service")
    running = serve(server, folder, KG_API__MAX_DOCUMENT_BYTES="1000000")
    yield running
    assert running.stop() == 0, running.output()


@pytest.fixture(scope="module")
def worker(server: Neo4jServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("worker")
    with started_worker(environment(server, KG_WORKER__POLL_SECONDS="0.1"), folder / "worker.log"):
        yield


@pytest.fixture(scope="package")
def kg(server: Neo4jServer, service: Service, tmp_path_factory: pytest.TempPathFactory) -> Kg:
    """Run `kg ARGUMENTS` in a forked process that has imported kg.

    Args:
        env: Changed variables.
        before: Command prefix. With a prefix, a new process starts.
    """
    home = tmp_path_factory.mktemp("home")
    usual = environment(server, KG_API_URL=service.url, KG_HOME=str(home), COLUMNS="80", PYTHONUTF8="1")

    def run(
        *arguments: str, env: dict[str, str] | None = None, before: tuple[str, ...] = (), stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        variables = {**usual, **(env or {})}
        if not before:
            return forked.run(arguments, variables, stdin=stdin)
        return subprocess.run(
            [*before, sys.executable, "-m", "kg_cli.main", *arguments],
            env=variables,
            cwd=ROOT,
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def ordinary() -> tuple[str, ...]:
    """Return a prefix to use if root should not be able to ignore file permissions."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


@pytest.fixture(scope="session")
def beginning(migrated_graph: Graph) -> Callable[[], object]:
    """Register the space, as the service did when it started."""
    return lambda: ensure_space(migrated_graph, small_embedder().identity)


@pytest.fixture
def folder(tmp_path: Path, graph: Graph) -> Path:
    del graph
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder
