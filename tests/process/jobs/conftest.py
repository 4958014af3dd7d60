from collections.abc import Iterator
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.process.jobs.crew import Crew, tell
from tests.support.embedders import small_embedder
from tests.support.running import Service, serve


@pytest.fixture
def crew(server: Neo4jServer, graph: Graph, tmp_path: Path) -> Iterator[Crew]:
    """The tokenizers library warns about a fork if it has used its own threads."""
    del graph
    crew = Crew(server, tmp_path)
    yield crew
    crew.end()
    for worker in crew.hired:
        tell(f"{worker.log.name}: {worker.output()[-1500:]}")


@pytest.fixture(scope="session")
def service(
    server: Neo4jServer, driver: neo4j.Driver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    wipe(driver)  # what tests elsewhere left may be of another model
    running = serve(server, tmp_path_factory.mktemp("service"))
    yield running
    running.kill()


@pytest.fixture
def http(service: Service, graph: Graph) -> Iterator[httpx.Client]:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client
