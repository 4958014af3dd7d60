"""Nomic's embedding service by its documented endpoint.

Not by its client: that takes the key from a file of its own only, sends ten texts a request, and retries for
31 s without regard to Retry-After. A contract test holds the two to the same protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kg_api.embed.known import RemoteModel, remote_model
from kg_api.embed.remote.embedder import EMBEDDING, EmbeddingReply, RemoteEmbedder, remote_embedder
from kg_api.embed.remote.replies import unit_rows
from kg_api.errors import ProviderMissing
from kg_api.models.embedding.spaces import ModelChoice
from kg_api.provider.classify import fields_of
from kg_api.provider.json_client import JsonClient
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Provider, Variables
from kg_api.sections import NomicSettings
from kg_api.settings import Settings

VARIABLES = Variables("KG_EMBEDDING__MODEL", "NOMIC_BASE_URL", "NOMIC_API_KEY")


def open_nomic(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or kg does not know the model.
        ManagedProcessError: the tokenizer, which comes with the packaged model, cannot be fetched.
    """
    own = settings.nomic
    model = remote_model(choice, settings)
    if own.api_key is None:
        raise ProviderMissing("NOMIC_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    return remote_embedder("nomic", NomicEndpoint(own, model), model, own, settings, policy=policy)


class NomicEndpoint:
    """POST /v1/embedding/text. The service puts the prefix there itself, by the task type."""

    def __init__(self, settings: NomicSettings, model: RemoteModel) -> None:
        self._model = model
        self._provider = Provider(EMBEDDING, VARIABLES, model.name, settings.base_url, settings.api_key)
        self._client = JsonClient(self._provider, "/v1/embedding/text")

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> EmbeddingReply:
        body: dict[str, object] = {
            "texts": list(texts),
            "model": self._model.name,
            "task_type": "search_query" if query else "search_document",
            "dimensionality": self._model.asks_for,
            "long_text_mode": "mean",  # should its tokenizer ever count more than ours, nothing is cut off
        }
        reply = self._client.read(self._client.post(body, seconds), texts)
        fields = fields_of(reply)
        found = fields.get("embeddings")
        if not isinstance(found, list):
            raise self._provider.no_service()
        hint = "correct the space's dimensions"
        vectors = unit_rows(cast("list[Any]", found), len(texts), self._model.dimensions, hint)
        return EmbeddingReply(vectors, _tokens(fields.get("usage")))

    def close(self) -> None:
        self._client.close()


def _tokens(usage: object) -> int | None:
    total = fields_of(usage).get("total_tokens")
    return total if type(total) is int and total > 0 else None
