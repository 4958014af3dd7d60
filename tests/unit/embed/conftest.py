"""The model comes from the user's cache (or KG_CACHE). The first test downloads it."""

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
    """The same model, pretending to take 32 tokens: long texts come cheap."""
    return LocalEmbedder(model_folder, replace(DEFAULT.spec, max_tokens=32), threads=2)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(params=["openai", "nomic"])
def asking(request: pytest.FixtureRequest, server: EmbeddingServer) -> Iterator[Asking]:
    """Each provider in turn, on a server of ours."""
    with Asking(request.param, server) as opened:
        yield opened


@pytest.fixture(params=["openai", "nomic"])
def patient(request: pytest.FixtureRequest, server: EmbeddingServer) -> Iterator[Asking]:
    """The same for large requests: a busy machine may take its time over them."""
    with Asking(request.param, server, timeout=60) as opened:
        yield opened
