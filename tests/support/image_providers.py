from typing import Any

import numpy as np
from pydantic import SecretStr

from kg_api.providers.embedding_endpoints import open_remote_images
from kg_api.providers.embedding_port import ImageEmbedder, Pixels
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.providers.remote_embedding import RemoteImageEmbedder, _known
from kg_api.providers.retrying import RetryPolicy
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import EmbeddingSettings, ImageEmbeddingSettings, Settings, load_settings
from tests.support.image_models import COLOURS
from tests.support.image_server import ImageServer
from tests.support.providers import CANARY, QUICK

KINDS = ["nomic", "openai"]
OPEN: list[ImageEmbedder] = []
"""Providers to close after a test."""


def settings(server: ImageServer, *, timeout: float = 5, query_seconds: float = 5, **given: Any) -> Settings:
    key = SecretStr(CANARY)
    return load_settings(
        openai=OpenAISettings(base_url=server.openai_url, api_key=key, timeout=timeout),
        nomic=NomicSettings(base_url=server.url, api_key=key, timeout=timeout),
        embedding=EmbeddingSettings(query_seconds=query_seconds),
        image_embedding=ImageEmbeddingSettings(**given),
    )


def opened(server: ImageServer, kind: str, *, timeout: float = 5, **given: Any) -> RemoteImageEmbedder:
    _known.clear()  # a port may be that of another test's server
    choice = ModelChoice(kind, "jina-clip-v2" if kind == "openai" else None)  # pyright: ignore[reportArgumentType]
    made = settings(server, timeout=timeout, **given)
    embedder = open_remote_images(made, choice, RetryPolicy(first_wait=QUICK), timeout)
    OPEN.append(embedder)
    return embedder


def opened_as_set(settings: Settings, choice: ModelChoice | None = None) -> ImageEmbedder:
    embedder = open_image_embedder(settings, choice)
    OPEN.append(embedder)
    return embedder


def coloured(name: str) -> Pixels:
    rgb = tuple(round(255 * each) for each in COLOURS[name])
    return np.full((40, 60, 3), rgb, np.uint8)


PICTURES = [coloured(name) for name in COLOURS]
