"""Nomic's embedding service by its documented endpoint.

Not by its client: that takes the key from a file of its own only, sends ten texts a request, and retries for
31 s without regard to Retry-After. A contract test holds the two to the same protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import httpx

from kg_api.bounded_http import ReplyTooLarge, bounded_client
from kg_api.embed.known import RemoteModel, remote_model
from kg_api.embed.remote import Answer, Limits, RemoteEmbedder
from kg_api.embed.replies import Provider, Refusal, too_large, understood, unit_rows
from kg_api.embed.tokenizers import tokenizer_of
from kg_api.errors import ConfigurationError, EmbeddingFailed
from kg_api.models.spaces import ModelChoice, SpaceIdentity
from kg_api.retrying import RetryPolicy, TryAgain
from kg_api.sections import NomicSettings
from kg_api.settings import Settings

MOST_TOKENS = 300_000
"""Nomic publishes no limit for a request; OpenAI's is taken."""


def open_nomic(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or kg does not know the model.
        ManagedProcessError: the tokenizer, which comes with the packaged model, cannot be fetched.
    """
    own = settings.nomic
    model = remote_model(choice, settings)
    if own.api_key is None:
        raise ConfigurationError("NOMIC_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    return RemoteEmbedder(
        NomicEndpoint(own, own.api_key.get_secret_value(), model),
        SpaceIdentity(
            provider="nomic",
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


class NomicEndpoint:
    """POST /v1/embedding/text. The service puts the prefix there itself, by the task type."""

    def __init__(self, settings: NomicSettings, key: str, model: RemoteModel) -> None:
        self._model = model
        self._provider = Provider(
            settings.base_url, key, "NOMIC_API_KEY", "KG_EMBEDDING__MODEL", "NOMIC_BASE_URL"
        )
        self._url = f"{settings.base_url.rstrip('/')}/v1/embedding/text"
        self._client: httpx.Client = bounded_client(httpx, headers={"Authorization": f"Bearer {key}"})

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> Answer:
        """See `Endpoint`."""
        body = {
            "texts": list(texts),
            "model": self._model.name,
            "task_type": "search_query" if query else "search_document",
            "dimensionality": self._model.asks_for,
            "long_text_mode": "mean",  # should its tokenizer ever count more than ours, nothing is cut off
        }
        try:
            response = self._client.post(self._url, json=body, timeout=seconds)
        except httpx.TransportError as error:
            failure = self._meaning(error, len(texts))
        else:
            return self._read(response, texts)
        raise failure  # outside: the client's error holds the request, and with it the key

    def close(self) -> None:
        """See `Endpoint`."""
        self._client.close()

    def _meaning(self, error: httpx.TransportError, texts: int) -> Exception:
        address = self._provider.address
        if isinstance(error, ReplyTooLarge):
            return too_large(self._provider, texts)
        if isinstance(error, httpx.TimeoutException):
            return TryAgain(f"{address} did not answer in time")
        return TryAgain(f"{address} cannot be reached or broke off ({type(error).__name__})")

    def _read(self, response: httpx.Response, texts: Sequence[str]) -> Answer:
        body = _json_object(response)
        if not response.is_success:
            detail = body.get("detail") or body.get("message") or ""
            raise understood(
                Refusal(response.status_code, response.headers, str(detail)), self._provider, texts
            )
        found = body.get("embeddings")
        if not isinstance(found, list):
            raise EmbeddingFailed(
                f"{self._provider.address} does not answer as Nomic's service does; check NOMIC_BASE_URL"
            )
        hint = "correct the space's dimensions"
        vectors = unit_rows(cast("list[Any]", found), len(texts), self._model.dimensions, hint)
        return Answer(vectors, _tokens(body.get("usage")))


def _json_object(response: httpx.Response) -> dict[str, object]:
    try:
        body: object = response.json()
    except ValueError:
        return {}
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}


def _tokens(usage: object) -> int | None:
    total = cast("dict[str, object]", usage).get("total_tokens") if isinstance(usage, dict) else None
    return total if type(total) is int and total > 0 else None
