"""Cohere's rerank, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kg_api.errors import ConfigurationError
from kg_api.providers.cohere_sdk import CohereSdk, cohere_edge, request_options
from kg_api.providers.remote_rerank import (
    POLICY,
    RERANKING,
    RemoteReranker,
    RerankLimits,
    in_order,
)
from kg_api.providers.retrying import Provider, RetryPolicy, Variables
from kg_api.settings import Settings

VARIABLES = Variables("KG_RERANK__MODEL", "COHERE_BASE_URL", "COHERE_API_KEY")
COHERE_MODEL = "rerank-v3.5"
COHERE_MAX_TOKENS = 4096
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
    model = settings.rerank.model or COHERE_MODEL
    provider = Provider(RERANKING, VARIABLES, model, own.base_url, own.api_key)
    limits = RerankLimits(settings.rerank.batch_size, settings.rerank.max_characters)
    return RemoteReranker(CohereEndpoint(provider), f"cohere:{model}", limits, policy)


class CohereEndpoint:
    """POST /v2/rerank."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._edge = cohere_edge(provider)
        self._sdk = CohereSdk(provider)

    def ask(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        def request() -> object:
            return self._sdk.client.rerank(
                model=self._provider.model,
                query=query,
                documents=list(texts),
                top_n=len(texts),
                max_tokens_per_doc=COHERE_MAX_TOKENS,
                request_options=request_options(seconds),
            )

        return self._read(self._edge.send(request, [query, *texts]), len(texts))

    def close(self) -> None:
        self._sdk.close()

    def _read(self, reply: object, texts: int) -> list[float]:
        results = getattr(reply, "results", None)
        if not isinstance(results, list):
            raise self._provider.no_service()
        items = cast("list[Any]", results)
        return in_order(
            [(getattr(i, "index", None), getattr(i, "relevance_score", None)) for i in items], texts
        )
