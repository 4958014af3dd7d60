"""OpenAI's embeddings, and those of every server with the same interface, by the official SDK."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kg_api.bounded_http import ReplyTooLarge, bounded_client
from kg_api.embed.known import RemoteModel, remote_model
from kg_api.embed.remote import Answer, Limits, RemoteEmbedder
from kg_api.embed.replies import Provider, Refusal, in_order, too_large, understood, unit_rows
from kg_api.embed.tokenizers import tokenizer_of
from kg_api.embed.tokens import missing
from kg_api.errors import ConfigurationError, EmbeddingFailed
from kg_api.models.spaces import ModelChoice, SpaceIdentity
from kg_api.retrying import RetryPolicy, TryAgain
from kg_api.sections import OpenAISettings
from kg_api.settings import Settings

try:
    import httpx2
    import openai
except ImportError:
    raise missing("openai") from None

MOST_TOKENS = 300_000
"""OpenAI's limit for all texts of one request together."""
_WITHOUT_KEY = "none"
"""Sent where no key is set: the SDK insists on one, servers of one's own mostly do not."""


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
    return RemoteEmbedder(
        OpenAIEndpoint(own, model),
        SpaceIdentity(
            provider="openai",
            model=model.name,
            revision=model.name,
            dimensions=model.dimensions,
            max_tokens=model.facts.max_tokens,
            query_prefix=model.facts.query_prefix,
            passage_prefix=model.facts.passage_prefix,
        ),
        tokenizer_of(model.facts, settings),
        Limits(own.batch_size, MOST_TOKENS, own.timeout, settings.embedding.query_seconds),
        policy or RetryPolicy(tries=own.max_retries + 1),
    )


class OpenAIEndpoint:
    """POST /embeddings. The SDK's own retries are off: `RetryPolicy` decides."""

    def __init__(self, settings: OpenAISettings, model: RemoteModel) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else _WITHOUT_KEY
        self._model = model
        self._provider = Provider(
            settings.base_url, key, "OPENAI_API_KEY", "OPENAI_EMBED_MODEL", "OPENAI_BASE_URL"
        )
        self._client = openai.OpenAI(
            api_key=key, base_url=settings.base_url, max_retries=0, http_client=bounded_client(httpx2)
        )

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> Answer:
        """See `Endpoint`."""
        facts = self._model.facts
        prefix = facts.query_prefix if query else facts.passage_prefix
        try:
            reply: object = self._client.embeddings.create(
                model=self._model.name,
                input=[prefix + text for text in texts],
                dimensions=self._model.asks_for or openai.omit,
                encoding_format="base64",
                timeout=seconds,
            )
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is not JSON
            failure = self._meaning(error, texts)
        else:
            return self._read(reply, len(texts))
        raise failure  # outside: the SDK's error holds the request, and with it the key

    def close(self) -> None:
        """See `Endpoint`."""
        self._client.close()

    def _meaning(self, error: Exception, texts: Sequence[str]) -> Exception:
        address = self._provider.address
        match error:
            case openai.APITimeoutError():
                return TryAgain(f"{address} did not answer in time")
            case openai.APIConnectionError(__cause__=ReplyTooLarge()):
                return too_large(self._provider, len(texts))
            case openai.APIConnectionError():
                return TryAgain(
                    f"{address} cannot be reached or broke off ({type(error.__cause__).__name__})"
                )
            case openai.APIStatusError():
                return understood(_refusal(error), self._provider, texts)
            case _:
                return _no_reply(address)

    def _read(self, reply: object, texts: int) -> Answer:
        data = getattr(reply, "data", None)
        if not isinstance(data, list):
            raise _no_reply(self._provider.address)
        items = cast("list[Any]", data)
        places = in_order([getattr(item, "index", None) for item in items])
        found = [_vector(getattr(items[at], "embedding", None)) for at in places]
        hint = "set OPENAI_EMBED_DIMS to what the model gives, or leave it out for a model that kg knows"
        usage = getattr(getattr(reply, "usage", None), "total_tokens", None)
        return Answer(
            unit_rows(found, texts, self._model.dimensions, hint),
            usage if type(usage) is int and usage > 0 else None,
        )


def _refusal(error: openai.APIStatusError) -> Refusal:
    body = cast("dict[str, object]", error.body) if isinstance(error.body, dict) else {}
    said = str(body.get("message") or body.get("detail") or "")
    return Refusal(
        error.status_code, error.response.headers, said, error.code or error.type or "", error.param or ""
    )


def _vector(embedding: object) -> object:
    """Base64 of little-endian float32, as asked for; servers that do not know it send plain numbers."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        raise EmbeddingFailed("a vector in the reply is not base64 of float32 numbers") from None


def _no_reply(address: str) -> EmbeddingFailed:
    return EmbeddingFailed(f"{address} does not answer as an embedding service does; check OPENAI_BASE_URL")
