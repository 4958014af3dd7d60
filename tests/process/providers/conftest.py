from collections.abc import Callable, Iterator
from contextlib import ExitStack

import neo4j
import pytest

from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.process.providers.provider import Provider
from tests.process.providers.world import World, opened
from tests.support.cypher import rows

OpenWorld = Callable[..., World]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def empty(driver: neo4j.Driver) -> None:
    wipe(driver)
    for name in ("passage_embedding", "concept_embedding", "relation_embedding"):
        rows(driver, "DROP INDEX $name IF EXISTS", name=name)


@pytest.fixture(autouse=True)
def _calm(provider: Provider) -> Iterator[None]:
    yield
    provider.calm()


@pytest.fixture(scope="module")
def open_world(
    server: Neo4jServer,
    migrated_graph: Graph,
    driver: neo4j.Driver,
    provider: Provider,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[OpenWorld]:
    """Start the service and the worker that are used for a module, with an empty database."""
    del migrated_graph
    clear = wipe
    with ExitStack() as stack:

        def start(**env: str) -> World:
            nonlocal clear
            clear = empty if "KG_EMBEDDING__PROVIDER" in env else wipe
            clear(driver)
            return stack.enter_context(
                opened(server, driver, provider, tmp_path_factory.mktemp("world"), **env)
            )

        yield start
    clear(driver)  # services of other tests start with another model
