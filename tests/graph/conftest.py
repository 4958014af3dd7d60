"""What tests of the graph share."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.settings import Settings
from tests.support.album import Album
from tests.support.colour_grid import plain
from tests.support.concept_graph import store_lives
from tests.support.constructive import constructing
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import extract_concepts, settings_of
from tests.support.kg import TEXTS, Kg
from tests.support.picture_search import COLOURS
from tests.support.records import record


@pytest.fixture
def kg(graph: Graph) -> Generator[Kg]:
    made = Kg(graph)
    store_document(graph, record("a.md", TEXTS))
    made.work()
    yield made
    made.spaces.close()


@pytest.fixture
def ids(kg: Kg, driver: neo4j.Driver) -> dict[str, str]:
    """The concepts of some lives, by their labels."""
    return store_lives(kg.graph, driver)


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
    """Embedded pictures with names that say nothing of what is seen."""
    made = Album(graph, tmp_path / "blobs")
    for number, colour in enumerate(COLOURS):
        made.pictures.add(plain(colour), f"p{number}.png")
    made.work()
    yield made
    made.close()


@pytest.fixture
def writer() -> Iterator[EmbeddingServer]:
    """A server of a language model that finds the capitalised words of what it is shown."""
    with EmbeddingServer() as running:
        running.chat = extract_concepts
        yield running


@pytest.fixture
def settings(writer: EmbeddingServer) -> Settings:
    """Settings that name it."""
    return settings_of(writer)
