import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from pathlib import Path
from typing import LiteralString, ParamSpec, TypeVar, cast

import httpx
import hypothesis
import neo4j
import pytest
import structlog
from xdist.remote import Producer

from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.graph.statements import (
    FIRST_CONCEPT_INDEX,
    FIRST_IMAGE_INDEX,
    FIRST_INDEX,
    FIRST_RELATION_INDEX,
    of_space,
)
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG, FIRST_SLUG, SECOND_SLOT
from tests.neo4j_server import Neo4jServer, neo4j_server
from tests.support import forked
from tests.support.colour_grid import ColourGrid
from tests.support.sharing_out import SharingOut
from tests.support.warm_java import java_options

OURS = ("KG_", "OPENAI_", "NOMIC_", "COHERE_")
KEPT_VARIABLES = ("KG_CACHE", "KG_TEST_")

hypothesis.settings.register_profile("usual", deadline=None, max_examples=30, derandomize=True)
hypothesis.settings.register_profile("full", deadline=None, max_examples=300)
hypothesis.settings.load_profile("usual")
"""By default, the same examples are used in each run, so that a failure is caused by the change. Use
`full` to draw new examples. There is no deadline, because it would depend on the machine."""

SLOW_FIRST = ("graph/", "service/", "process/managed/", "process/", "")
"""Order of the folders. The slow ones are first, so that all processes finish at about the same time."""

PLAN_ANEW = frozenset(
    {
        *("any_request", "bad_inputs_stored", "database", "health"),
        *("paid_search", "space_pages", "administration_in_browser"),
    }
)
"""Tests that create or drop indexes. After each of them, Neo4j has to plan all statements again (50 ms of
CPU each), so they run last. If it is only some tests of a module, they have the mark `plans_anew`."""
SHARED = "libraries"
"""Fixture to use if a test only reads. Its data is stored once and is not deleted between these tests."""

FURTHER_SIZE = 64
"""Dimensions to use for the spaces that tests create in addition to the first."""
USUAL_SIZES = {
    FIRST_INDEX: 256,
    FIRST_CONCEPT_INDEX: 256,
    FIRST_RELATION_INDEX: 256,
    of_space(FIRST_INDEX, FIRST_SLUG + SECOND_SLOT): 256,
    of_space(FIRST_IMAGE_INDEX, FIRST_IMAGE_SLUG): ColourGrid().identity.dimensions,
    of_space(FIRST_IMAGE_INDEX, "fine"): ColourGrid(4).identity.dimensions,
}

P = ParamSpec("P")
T = TypeVar("T")

WIPE = (
    "MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } "
    "IN TRANSACTIONS OF 5000 ROWS ON ERROR RETRY THEN FAIL"
)
"""If a worker from the previous module still has a lock, Neo4j will abort one of the two transactions."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while tests are collected. This saves a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharingOut:
    return SharingOut(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow folders first. In each folder, run the tests last that cause Neo4j to plan its
    statements again."""
    here = Path(__file__).parent

    def rank(item: pytest.Item) -> tuple[int, bool, bool]:
        name = item.path.relative_to(here).as_posix()
        place = next(place for place, folder in enumerate(SLOW_FIRST) if name.startswith(folder))
        shares = SHARED in getattr(item, "fixturenames", ())
        anew = item.get_closest_marker("plans_anew") is not None
        return place, anew or item.path.stem.removeprefix("test_") in PLAN_ANEW, shares

    items.sort(key=rank)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the settings and the home of the person who runs the tests."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(OURS) and not name.startswith(KEPT_VARIABLES):
            del os.environ[name]
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.getbasetemp() / "data")
    os.environ.setdefault("JAVA_TOOL_OPTIONS", java_options())
    yield
    os.environ.clear()
    os.environ.update(before)


def pytest_configure(config: pytest.Config) -> None:
    """Handle Ctrl-C. By default, it is ignored if a script starts pytest in the background."""
    if config.getoption("numprocesses", None):
        forked.share()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _plain_tracebacks() -> None:
    """Use plain tracebacks. To draw a traceback with colours can take a second on a busy machine, and
    some retries do not wait this long."""
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    usual = structlog.get_config()["processors"]
    structlog.configure(processors=[*usual[:-1], plain])


@pytest.fixture(scope="session", autouse=True)
def _one_context() -> Iterator[None]:
    """Use one SSL context for all HTTP clients, because it takes 30 ms to load the certificates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Neo4jServer]:
    with neo4j_server() as started:
        yield started


@pytest.fixture(scope="session")
def driver(server: Neo4jServer) -> Iterator[neo4j.Driver]:
    options = {"notifications_min_severity": neo4j.NotificationMinimumSeverity.OFF}
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password), **options) as opened:
        yield opened


@pytest.fixture(scope="session")
def migrated_graph(server: Neo4jServer) -> Iterator[Graph]:
    with Graph(server.uri, server.user, server.password) as opened:
        migrate(opened)
        yield opened


class Stored:
    """Data that can be used by all tests that only read. The bookmark contains the last committed
    transaction, so you can see if a test has written to the database. If it has, the data will be stored
    again for the next test."""

    def __init__(self, driver: neo4j.Driver) -> None:
        self.given = False
        """Whether the data for the current test has been stored."""
        self.begin: Callable[[], object] = lambda: None
        """Data to store before the data of a test."""
        self._driver = driver
        self._opened = ExitStack()
        self._known: tuple[object, object] | None = None
        self._value: object = None

    def give(self, store: Callable[P, AbstractContextManager[T]], *given: P.args, **named: P.kwargs) -> T:
        """Return the result of `store` in an empty database. If another test has called it, this will be
        the same result."""
        self.given, key = True, (self.begin, store, given, tuple(named.items()))
        if self._known != (key, self._bookmark()):
            self.close()
            wipe(self._driver)
            self.begin()
            self._value = self._opened.enter_context(store(*given, **named))
            self._known = (key, self._bookmark())
        return cast("T", self._value)

    def close(self) -> None:
        self._known = None
        self._opened.close()

    def _bookmark(self) -> object:
        with self._driver.session() as session:
            session.run("RETURN 1").consume()
            return session.last_bookmarks().raw_values


@pytest.fixture(scope="session")
def _stored(driver: neo4j.Driver) -> Iterator[Stored]:
    made = Stored(driver)
    yield made
    made.close()


@pytest.fixture(scope="session")
def beginning() -> Callable[[], object]:
    return lambda: None


@pytest.fixture
def stored(_stored: Stored, beginning: Callable[[], object]) -> Stored:
    _stored.given, _stored.begin = False, beginning
    return _stored


@pytest.fixture
def graph(request: pytest.FixtureRequest, stored: Stored, migrated_graph: Graph) -> Graph:
    """Return a database with the schema and the data from the `shared` fixture of the module."""
    if "shared" in request.fixturenames:
        request.getfixturevalue("shared")
    if not stored.given:
        stored.give(nullcontext)
    return migrated_graph


def wipe(driver: neo4j.Driver) -> None:
    """Delete all data. Indexes are only dropped if their size is unusual, because Neo4j would have to
    plan all statements again."""
    with driver.session() as session:
        session.run(WIPE).consume()
        found = session.run(
            "SHOW VECTOR INDEXES YIELD name, options "
            "RETURN name, options.indexConfig['vector.dimensions'] AS size"
        ).data()
        for index in found:
            if index["size"] != USUAL_SIZES.get(index["name"], FURTHER_SIZE):
                session.run(cast("LiteralString", f"DROP INDEX {index['name']} IF EXISTS")).consume()
