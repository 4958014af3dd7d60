"""OpenAI's embeddings, and those of every server with the same interface, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kg_api.embed.known import RemoteModel, remote_model
from kg_api.embed.remote.embedder import EMBEDDING, EmbeddingReply, RemoteEmbedder, remote_embedder
from kg_api.embed.remote.replies import in_order, plain_vector, unit_rows
from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import ModelChoice
from kg_api.provider.openai_sdk import omit, open_sdk, sdk_edge
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Provider, Variables
from kg_api.sections import OpenAISettings
from kg_api.settings import Settings

VARIABLES = Variables("OPENAI_EMBED_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")


def open_openai(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or the model's size is not known.
    """
    own = settings.openai
    model = remote_model(choice, settings)
    if own.api_key is None and own.needs_key:
        raise ConfigurationError(
            "OPENAI_API_KEY is not set where kg runs; set it, or OPENAI_BASE_URL to a server without, "
            "then `kg down` and `kg up`"
        )
    return remote_embedder("openai", OpenAIEndpoint(own, model), model, own, settings, policy=policy)


class OpenAIEndpoint:
    """POST /embeddings."""

    def __init__(self, settings: OpenAISettings, model: RemoteModel) -> None:
        self._model = model
        self._provider = Provider(EMBEDDING, VARIABLES, model.name, settings.base_url, settings.api_key)
        self._edge = sdk_edge(self._provider)
        self._client = open_sdk(self._provider)

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> EmbeddingReply:
        """See `EmbeddingEndpoint`."""
        facts = self._model.facts
        prefix = facts.query_prefix if query else facts.passage_prefix

        def request() -> object:
            return self._client.embeddings.create(
                model=self._model.name,
                input=[prefix + text for text in texts],
                dimensions=self._model.asks_for or omit,
                encoding_format="base64",
                timeout=seconds,
            )

        return self._read(self._edge.send(request, texts), len(texts))

    def close(self) -> None:
        """See `EmbeddingEndpoint`."""
        self._client.close()

    def _read(self, reply: object, texts: int) -> EmbeddingReply:
        data = getattr(reply, "data", None)
        if not isinstance(data, list):
            raise self._provider.no_service()
        items = cast("list[Any]", data)
        places = in_order([getattr(item, "index", None) for item in items])
        found = [plain_vector(getattr(items[at], "embedding", None)) for at in places]
        hint = "set OPENAI_EMBED_DIMS to what the model gives, or leave it out for a model that kg knows"
        usage = getattr(getattr(reply, "usage", None), "total_tokens", None)
        return EmbeddingReply(
            unit_rows(found, texts, self._model.dimensions, hint),
            usage if type(usage) is int and usage > 0 else None,
        )
