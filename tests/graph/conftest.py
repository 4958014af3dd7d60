"""What tests of the graph share."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import store_document
from kg_api.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import extract_concepts, settings_of
from tests.support.kg import TEXTS, Kg
from tests.support.records import record


@pytest.fixture
def kg(graph: Graph) -> Generator[Kg]:
    made = Kg(graph)
    store_document(graph, record("a.md", TEXTS))
    made.work()
    yield made
    made.spaces.close()


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
