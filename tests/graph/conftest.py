from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.settings import Settings
from tests.conftest import Stored
from tests.support.album import Album
from tests.support.colour_grid import plain
from tests.support.concept_graph import store_lives
from tests.support.constructive import constructing
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import extract_concepts, settings_of
from tests.support.kg import TEXTS, Kg
from tests.support.picture_search import COLOURS
from tests.support.records import record


@contextmanager
def embedded(graph: Graph, *adding: Callable[[Graph], object]) -> Generator[Kg]:
    """Store what these functions add, and embed it after each of them."""
    made = Kg(graph)
    for add in adding:
        add(graph)
        made.work()
    yield made
    made.spaces.close()


def add_texts(graph: Graph) -> None:
    store_document(graph, record("a.md", TEXTS))


def store_texts(graph: Graph) -> AbstractContextManager[Kg]:
    return embedded(graph, add_texts)


def sharing(*adding: Callable[[Graph], object]) -> Callable[..., Kg]:
    """Build a fixture with the data that these functions add."""

    @pytest.fixture
    def shared(stored: Stored, migrated_graph: Graph) -> Kg:
        return stored.give(embedded, migrated_graph, *adding)

    return shared


@contextmanager
def _store_lives(graph: Graph, driver: neo4j.Driver) -> Generator[tuple[Kg, dict[str, str]]]:
    with store_texts(graph) as made:
        yield made, store_lives(graph, driver)


@pytest.fixture
def lives(stored: Stored, migrated_graph: Graph, driver: neo4j.Driver) -> tuple[Kg, dict[str, str]]:
    """Store the default texts with some of their concepts, and return them by label."""
    return stored.give(_store_lives, migrated_graph, driver)


@pytest.fixture
def kg(request: pytest.FixtureRequest, stored: Stored, migrated_graph: Graph) -> Kg:
    """Return the default texts. If the test uses `ids`, this also adds concepts."""
    if "ids" in request.fixturenames:
        return request.getfixturevalue("lives")[0]
    return stored.give(embedded, migrated_graph, add_texts)


@pytest.fixture
def ids(lives: tuple[Kg, dict[str, str]]) -> dict[str, str]:
    return lives[1]


@pytest.fixture
def constructive(kg: Kg) -> Iterator[ConstructiveService]:
    with constructing(kg) as service:
        yield service


@pytest.fixture
def album(graph: Graph, tmp_path: Path) -> Generator[Album]:
    """Return images that are named after their colours and have not been embedded."""
    made = Album(graph, tmp_path / "blobs")
    made.add_images("red", "green", "blue")
    yield made
    made.close()


@pytest.fixture
def unnamed_album(graph: Graph, tmp_path: Path) -> Generator[Album]:
    """Return embedded images. You cannot see from their names what they show."""
    made = Album(graph, tmp_path / "blobs")
    for number, colour in enumerate(COLOURS):
        made.pictures.add(plain(colour), f"p{number}.png")
    made.work()
    yield made
    made.close()


@pytest.fixture
def writer() -> Iterator[EmbeddingServer]:
    """Return a server with a language model that extracts all capitalized words."""
    with EmbeddingServer() as running:
        running.chat = extract_concepts
        yield running


@pytest.fixture
def settings(writer: EmbeddingServer) -> Settings:
    return settings_of(writer)
