from collections.abc import Iterator

import pytest

from kg_api.providers.openai_chat import Chat
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import open_quick, write_contexts


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        running.chat = write_contexts
        yield running


@pytest.fixture
def chat(server: EmbeddingServer) -> Iterator[Chat]:
    opened = open_quick(server)
    yield opened
    opened.close()
