from __future__ import annotations

from collections.abc import Iterator

import pytest

from kg_api.providers.remote_embedding import RemoteImageEmbedder
from tests.support.image_providers import KINDS, OPEN, opened
from tests.support.image_server import ImageServer


@pytest.fixture
def server() -> Iterator[ImageServer]:
    with ImageServer() as running:
        yield running
    while OPEN:
        OPEN.pop().close()


@pytest.fixture(params=KINDS)
def embedder(server: ImageServer, request: pytest.FixtureRequest) -> RemoteImageEmbedder:
    return opened(server, request.param)
