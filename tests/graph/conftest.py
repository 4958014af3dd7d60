from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
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
def store_texts(graph: Graph) -> Generator[Kg]:
    """Store one document of the usual texts, embedded."""
    made = Kg(graph)
    store_document(graph, record("a.md", TEXTS))
    made.work()
    yield made
    made.spaces.close()


@contextmanager
def _store_lives(graph: Graph, driver: neo4j.Driver) -> Generator[tuple[Kg, dict[str, str]]]:
    with store_texts(graph) as made:
        yield made, store_lives(graph, driver)


@pytest.fixture
def lives(stored: Stored, migrated_graph: Graph, driver: neo4j.Driver) -> tuple[Kg, dict[str, str]]:
    """The usual texts and the concepts of some lives, by their labels."""
    return stored.give(_store_lives, migrated_graph, driver)


@pytest.fixture
def kg(request: pytest.FixtureRequest, stored: Stored, migrated_graph: Graph) -> Kg:
    """Return the usual texts. For tests with `ids`, add concepts."""
    if "ids" in request.fixturenames:
        return request.getfixturevalue("lives")[0]
    return stored.give(store_texts, migrated_graph)


@pytest.fixture
def ids(lives: tuple[Kg, dict[str, str]]) -> dict[str, str]:
    """The concepts of some lives, by their labels."""
    return lives[1]


@pytest.fixture
def constructive(kg: Kg) -> Iterator[ConstructiveService]:
    with constructing(kg) as service:
        yield service


@pytest.fixture
def album(graph: Graph, tmp_path: Path) -> Generator[Album]:
    """Pictures that are called by their colours, and not embedded yet."""
    made = Album(graph, tmp_path / "blobs")
    made.add_images("red", "green", "blue")
    yield made
    made.close()


@pytest.fixture
def unnamed_album(graph: Graph, tmp_path: Path) -> Generator[Album]:
    """Return embedded images whose names do not describe the content."""
    made = Album(graph, tmp_path / "blobs")
    for number, colour in enumerate(COLOURS):
        made.pictures.add(plain(colour), f"p{number}.png")
    made.work()
    yield made
    made.close()


@pytest.fixture
def writer() -> Iterator[EmbeddingServer]:
    """Return a language model server that extracts capitalized words."""
    with EmbeddingServer() as running:
        running.chat = extract_concepts
        yield running


@pytest.fixture
def settings(writer: EmbeddingServer) -> Settings:
    """Settings that name it."""
    return settings_of(writer)
