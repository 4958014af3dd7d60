import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.access import keys
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.graph.spaces import ensure_space
from kg_api.local.processes import Home
from kg_api.schemas.operations import KeyRotation, NewKey
from kg_api.schemas.vocabulary import KeyScope
from tests.conftest import Stored, wipe
from tests.neo4j_server import Neo4jServer
from tests.support.concept_graph import store_bees
from tests.support.embedders import small_embedder
from tests.support.embedding_server import EmbeddingServer
from tests.support.evaluations import measured, save
from tests.support.running import Service, serve
from tests.support.two_libraries import Libraries, open_libraries, sending

SCOPES: tuple[KeyScope, ...] = ("read", "write", "admin")


@pytest.fixture(scope="session")
def service(
    server: Neo4jServer, driver: neo4j.Driver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    wipe(driver)  # what tests elsewhere left may be of another model
    running = serve(server, tmp_path_factory.mktemp("service"))
    yield running
    assert running.stop() == 0, running.output()


@pytest.fixture(scope="session")
def beginning(migrated_graph: Graph) -> Callable[[], object]:
    """Register the space, as a service would do when it starts."""
    return lambda: ensure_space(migrated_graph, small_embedder().identity)


@pytest.fixture
def http(service: Service, graph: Graph) -> Iterator[httpx.Client]:
    del graph
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


@pytest.fixture
def kg(service: Service, graph: Graph) -> Iterator[KgClient]:
    del graph
    with KgClient(service.url) as client:
        yield client


def sharing(store: Callable[[Graph, str], object], at: str = "service") -> Callable[..., object]:
    """Build the fixture `shared` for a module. It has the data that `store` creates using the URL of a
    service."""

    @contextmanager
    def opened(graph: Graph, url: str) -> Generator[object]:
        yield store(graph, url)

    @pytest.fixture
    def shared(request: pytest.FixtureRequest, stored: Stored, migrated_graph: Graph) -> object:
        service: Service = request.getfixturevalue(at)
        return stored.give(opened, migrated_graph, service.url)

    return shared


@contextmanager
def _store_bees(graph: Graph, driver: neo4j.Driver) -> Generator[dict[str, str]]:
    yield store_bees(graph, driver)


@pytest.fixture
def shared(stored: Stored, migrated_graph: Graph, driver: neo4j.Driver) -> dict[str, str]:
    return stored.give(_store_bees, migrated_graph, driver)


@pytest.fixture
def told(shared: object, kg: KgClient) -> KgClient:
    """The client, on what the module shares."""
    del shared
    return kg


@pytest.fixture
def ids(shared: dict[str, str]) -> dict[str, str]:
    return shared


@pytest.fixture
def evaluations(service: Service) -> Iterator[Path]:
    """Write results to the home of the service: two runs for bees and one for owls."""
    folder = service.log.parent / "home" / "evaluations"
    save(folder, "text", measured("text", [3, 1, 0, 4] * 3, ontology="bees"))
    save(folder, "hybrid", measured("hybrid", [1, 1, 1, 2] * 3, ontology="bees"), after=1)
    save(folder, "owls", measured("text", [1], data="owls", ontology="owls"), after=2)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def writer() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(scope="session")
def writing(
    server: Neo4jServer,
    driver: neo4j.Driver,
    writer: EmbeddingServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    wipe(driver)
    model = {"KG_LLM__MODEL": "small-writer", "KG_LLM__BASE_URL": writer.openai_url}
    more = {"KG_LLM__TIMEOUT_SECONDS": "10", "KG_SYNC__ROOTS": ""}
    running = serve(server, tmp_path_factory.mktemp("writing"), **model, **more)
    yield running
    assert running.stop() == 0, running.output()


@pytest.fixture(scope="session")
def guarded_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("guarded") / "home")


@pytest.fixture(scope="session")
def guarded(server: Neo4jServer, driver: neo4j.Driver, guarded_home: Home) -> Iterator[Service]:
    wipe(driver)
    running = serve(server, guarded_home.path.parent, KG_API__REQUIRE_KEYS="true")
    yield running
    assert running.stop() == 0, running.output()


@pytest.fixture(scope="session")
def door(guarded: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, timeout=60) as client:
        yield client


@dataclass(frozen=True)
class Made:
    keys: dict[str, str]
    sessions: dict[str, str]


@pytest.fixture(scope="module")
def made(server: Neo4jServer, driver: neo4j.Driver) -> Iterator[Made]:
    """Create a key of each scope, and keys with sessions that are expired or revoked."""
    wipe(driver)
    with Graph(server.uri, server.user, server.password) as graph:
        migrate(graph)
        ensure_space(graph, small_embedder().identity)
        good = {each: keys.create_key(graph, NewKey(name=each, scope=each), "local").key for each in SCOPES}
        sessions = dict[str, str]()
        for name in ("expired", "revoked"):
            key = keys.create_key(graph, NewKey(name=name, scope="admin"), "local")
            token = keys.open_session(graph, key.key_id)
            assert token
            good[name], sessions[name] = key.key, token.text
        keys.rotate_key(graph, "expired", KeyRotation(overlap_hours=0), "local")
        keys.revoke_key(graph, "revoked")
        yield Made(good, sessions)
    wipe(driver)


@pytest.fixture(scope="session")
def libraries(
    server: Neo4jServer, driver: neo4j.Driver, guarded: Service, guarded_home: Home
) -> Iterator[Libraries]:
    """Store two ontologies and return a key for one of them. Tests that use this are run last."""
    wipe(driver)
    with Graph(server.uri, server.user, server.password) as opened:
        migrate(opened)
        ensure_space(opened, small_embedder().identity)
        yield open_libraries(opened, guarded, guarded_home)
    wipe(driver)


@pytest.fixture
def own(libraries: Libraries, guarded: Service) -> Iterator[httpx.Client]:
    with sending(guarded, libraries.keys["own"]) as client:
        yield client


@pytest.fixture
def everything(libraries: Libraries, guarded: Service) -> Iterator[httpx.Client]:
    with sending(guarded, libraries.keys["all"]) as client:
        yield client
