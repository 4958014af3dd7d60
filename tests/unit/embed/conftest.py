from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kg_api.providers.embedding_port import DEFAULT
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_model
from kg_api.settings import load_settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import Asking


@pytest.fixture(scope="session")
def model_folder() -> Path:
    return ensure_model(load_settings())


@pytest.fixture(scope="session")
def local(model_folder: Path) -> LocalEmbedder:
    return LocalEmbedder(model_folder, DEFAULT.spec, threads=2)


@pytest.fixture(scope="session")
def short(model_folder: Path) -> LocalEmbedder:
    """Return the same model with a limit of 32 tokens, so that you can test long texts with little
    work."""
    return LocalEmbedder(model_folder, replace(DEFAULT.spec, max_tokens=32), threads=2)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(params=["openai", "nomic"])
def asking(request: pytest.FixtureRequest, server: EmbeddingServer) -> Iterator[Asking]:
    with Asking(request.param, server) as opened:
        yield opened


@pytest.fixture(params=["openai", "nomic"])
def patient(request: pytest.FixtureRequest, server: EmbeddingServer) -> Iterator[Asking]:
    """Return the same model for large requests. On a busy machine, it is allowed to take more time."""
    with Asking(request.param, server, timeout=60) as opened:
        yield opened
