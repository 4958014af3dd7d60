"""Cohere's rerank, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import httpx

from kg_api.bounded_http import bounded_client
from kg_api.errors import ConfigurationError
from kg_api.rerank.remote import POLICY, Limits, RemoteReranker
from kg_api.rerank.replies import Provider, Refusal, in_order, no_reply, understood, unreached
from kg_api.retrying import RetryPolicy, TryAgain
from kg_api.settings import Settings

try:
    import cohere
    from cohere.core.api_error import ApiError
except ImportError:
    raise ConfigurationError(
        "the packages for Cohere are not installed; in kg's checkout: "
        ".venv/bin/python -m pip install '.[cohere]', then `kg down` and `kg up`"
    ) from None

MODEL = "rerank-v3.5"
MOST_TOKENS = 4096
"""What the model reads of a question and a passage; passages come in windows that are well below."""


def open_cohere(settings: Settings, policy: RetryPolicy = POLICY) -> RemoteReranker:
    """Open the reranker; no request is sent yet.

    Raises:
        ConfigurationError: there is no key.
    """
    own = settings.cohere
    if own.api_key is None:
        raise ConfigurationError(
            "COHERE_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`"
        )
    model = settings.rerank.model or MODEL
    key = own.api_key.get_secret_value()
    provider = Provider(model, own.base_url, key, "COHERE_API_KEY", "COHERE_BASE_URL")
    limits = Limits(settings.rerank.batch_size, settings.rerank.max_characters)
    return RemoteReranker(CohereEndpoint(provider, key, model), f"cohere:{model}", limits, policy)


class CohereEndpoint:
    """POST /v2/rerank. The SDK's own retries are off: `RetryPolicy` decides."""

    def __init__(self, provider: Provider, key: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._http: httpx.Client = bounded_client(httpx)
        self._client = cohere.ClientV2(key, base_url=provider.address, max_retries=0, httpx_client=self._http)

    def ask(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """See `Endpoint`."""
        try:
            reply: object = self._client.rerank(
                model=self._model,
                query=query,
                documents=list(texts),
                top_n=len(texts),
                max_tokens_per_doc=MOST_TOKENS,
                request_options={"timeout": seconds, "max_retries": 0},
            )
        except (ApiError, httpx.HTTPError, ValueError, TypeError) as error:  # the last two: a strange body
            failure = self._meaning(error, [query, *texts])
        else:
            return self._read(reply, len(texts))
        raise failure  # outside: the SDK's error holds the request, and with it the key

    def close(self) -> None:
        """See `Endpoint`."""
        self._http.close()

    def _meaning(self, error: Exception, sent: Sequence[str]) -> Exception:
        match error:
            case httpx.TimeoutException():
                return TryAgain(f"{self._provider.address} did not answer in time")
            case httpx.TransportError():
                return unreached(self._provider, error)
            case ApiError(status_code=int(status)) if status >= 300:  # noqa: PLR2004 - no success
                headers = {name.lower(): value for name, value in (error.headers or {}).items()}
                return understood(Refusal(status, headers, _said(error.body)), self._provider, sent)
            case _:
                return no_reply(self._provider)

    def _read(self, reply: object, texts: int) -> list[float]:
        results = getattr(reply, "results", None)
        if not isinstance(results, list):
            raise no_reply(self._provider)
        items = cast("list[Any]", results)
        return in_order(
            [(getattr(i, "index", None), getattr(i, "relevance_score", None)) for i in items], texts
        )


def _said(body: object) -> str:
    return str(cast("dict[str, object]", body).get("message") or "") if isinstance(body, dict) else ""
