"""Servers whose /embeddings takes pictures, each in its own way: OpenAI's interface has none for them."""

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
from kg_api.embed.image.remote.encoding import data_url
from kg_api.embed.image.remote.known import OPENAI, RemoteImageModel, remote_image_model
from kg_api.embed.port import Vectors
from kg_api.embed.remote.replies import in_order, plain_vector, unit_rows
from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import ImageModelChoice
from kg_api.models.vocabulary import ImageDialect
from kg_api.provider.classify import fields_of
from kg_api.provider.json_client import JsonClient
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Provider, Variables
from kg_api.sections import OpenAISettings
from kg_api.settings import Settings

VARIABLES = Variables("KG_IMAGE_EMBEDDING__MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_QUOTED = 4000
"""Characters of a picture that an error may repeat: they are struck out of it."""


def open_openai_images(
    settings: Settings, choice: ImageModelChoice, policy: RetryPolicy | None = None
) -> RemoteImageEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: the address is OpenAI's own, whose models take no pictures, or no model is named,
            or its size is not known.
    """
    own, dialect = settings.openai, settings.image_embedding.dialect
    model = remote_image_model(choice, settings, OPENAI)
    if own.needs_key:
        raise ConfigurationError(
            "OpenAI's own embeddings take no pictures: set OPENAI_BASE_URL to a server whose do (Jina, "
            "SGLang, Infinity, vLLM), or KG_IMAGE_EMBEDDING__PROVIDER to another provider"
        )
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    pictures = 1 if dialect == "vllm" else min(own.batch_size, model.facts.batch)
    endpoint, seconds = OpenAIImageEndpoint(own, model, dialect), own.timeout
    return remote_image_embedder(
        "openai", endpoint, model, settings, seconds=seconds, policy=policy, pictures=pictures
    )


class OpenAIImageEndpoint:
    """POST /embeddings."""

    def __init__(self, settings: OpenAISettings, model: RemoteImageModel, dialect: ImageDialect) -> None:
        self._model = model
        self._dialect: ImageDialect = dialect
        address, key = settings.base_url, settings.api_key
        self._pictures = Provider(PICTURES, VARIABLES, model.name, address, key)
        self._words = Provider(WORDS, VARIABLES, model.name, address, key)
        self._picture_client = JsonClient(self._pictures, "/embeddings")
        self._word_client = JsonClient(self._words, "/embeddings")

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        urls = [data_url(picture) for picture in pictures]
        response = self._picture_client.post(self._body(pictures_body(urls, self._dialect)), seconds)
        reply = self._picture_client.read(response, [url[:_QUOTED] for url in urls])
        return self._read(reply, len(urls), self._pictures, "pictures")

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        prefixed = [self._model.facts.query_prefix + text for text in texts]
        response = self._word_client.post(self._body(words_body(prefixed, self._dialect)), seconds)
        return self._read(self._word_client.read(response, texts), len(texts), self._words, "texts")

    def close(self) -> None:
        self._picture_client.close()
        self._word_client.close()

    def _body(self, given: dict[str, object]) -> dict[str, object]:
        asked = self._model.asks_for
        return {"model": self._model.name, **given, **({"dimensions": asked} if asked else {})}

    def _read(self, reply: object, sent: int, provider: Provider, what: str) -> Vectors:
        data = fields_of(reply).get("data")
        if not isinstance(data, list):
            raise provider.no_service()
        items = [fields_of(item) for item in cast("list[Any]", data)]
        places = in_order([item.get("index") for item in items])
        found = [plain_vector(items[at].get("embedding")) for at in places]
        return unit_rows(found, sent, self._model.dimensions, HINT, what=what)


def pictures_body(urls: Sequence[str], dialect: ImageDialect) -> dict[str, object]:
    """Pictures as a server takes them; `vllm` takes one."""
    match dialect:
        case "jina":
            return {"input": [{"image": url} for url in urls]}
        case "infinity":
            return {"input": list(urls), "modality": "image"}
        case "vllm":
            content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            return {"messages": [{"role": "user", "content": content}]}


def words_body(texts: Sequence[str], dialect: ImageDialect) -> dict[str, object]:
    """Words as a server takes them."""
    match dialect:
        case "jina":
            return {"input": [{"text": text} for text in texts]}
        case "infinity":
            return {"input": list(texts), "modality": "text"}
        case "vllm":
            return {"input": list(texts)}
