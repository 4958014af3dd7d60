"""Nomic's vision models by their documented endpoint, and words by that of the text model of the same space.

Not by its client, for the reasons that text has; a contract test holds the two to the same protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kg_api.embed.image.remote.embedder import (
    HINT,
    PICTURES,
    WORDS,
    RemoteImageEmbedder,
    remote_image_embedder,
)
from kg_api.embed.image.remote.known import NOMIC, RemoteImageModel, remote_image_model
from kg_api.embed.port import Vectors
from kg_api.embed.remote.replies import unit_rows
from kg_api.errors import ProviderMissing
from kg_api.models.embedding.spaces import ImageModelChoice
from kg_api.provider.classify import fields_of
from kg_api.provider.json_client import JsonClient
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Provider, Variables
from kg_api.sections import NomicSettings
from kg_api.settings import Settings

VARIABLES = Variables("KG_IMAGE_EMBEDDING__MODEL", "NOMIC_BASE_URL", "NOMIC_API_KEY")


def open_nomic_images(
    settings: Settings, choice: ImageModelChoice, policy: RetryPolicy | None = None
) -> RemoteImageEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or kg does not know the model.
    """
    own = settings.nomic
    model = remote_image_model(choice, settings, NOMIC)
    if own.api_key is None:
        raise ProviderMissing("NOMIC_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    endpoint = NomicImageEndpoint(own, model)
    return remote_image_embedder("nomic", endpoint, model, settings, seconds=own.timeout, policy=policy)


class NomicImageEndpoint:
    """POST /v1/embedding/image as a form with files, and /v1/embedding/text."""

    def __init__(self, settings: NomicSettings, model: RemoteImageModel) -> None:
        self._model = model
        address, key = settings.base_url, settings.api_key
        self._pictures = Provider(PICTURES, VARIABLES, model.name, address, key)
        self._words = Provider(WORDS, VARIABLES, model.facts.text_model, address, key)
        self._image_client = JsonClient(self._pictures, "/v1/embedding/image")
        self._text_client = JsonClient(self._words, "/v1/embedding/text")

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        files = [("images", ("images", picture, "image/jpeg")) for picture in pictures]
        response = self._image_client.post_form({"model": self._model.name}, files, seconds)
        return self._read(self._image_client.read(response, ()), len(pictures), self._pictures, "pictures")

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        """See `ImageEndpoint`. The service puts the prefix there itself, by the task type."""
        body: dict[str, object] = {
            "texts": list(texts),
            "model": self._model.facts.text_model,
            "task_type": "search_query",
            "dimensionality": None,
            "long_text_mode": "mean",
        }
        reply = self._text_client.read(self._text_client.post(body, seconds), texts)
        return self._read(reply, len(texts), self._words, "texts")

    def close(self) -> None:
        self._image_client.close()
        self._text_client.close()

    def _read(self, reply: object, sent: int, provider: Provider, what: str) -> Vectors:
        found = fields_of(reply).get("embeddings")
        if not isinstance(found, list):
            raise provider.no_service()
        return unit_rows(cast("list[Any]", found), sent, self._model.dimensions, HINT, what=what)
