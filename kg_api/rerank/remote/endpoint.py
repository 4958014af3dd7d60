"""Any server with a /rerank: as Cohere and Jina speak it (vLLM, Infinity, LiteLLM), or as TEI does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import httpx

from kg_api.errors import ConfigurationError
from kg_api.provider.classify import fields_of
from kg_api.provider.json_client import JsonClient
from kg_api.provider.retrying import RetryPolicy
from kg_api.provider.service import Provider, Variables
from kg_api.rerank.remote.reranker import POLICY, RERANKING, RemoteReranker, RerankLimits, in_order
from kg_api.settings import Settings

VARIABLES = Variables("KG_RERANK__MODEL", "KG_RERANK__BASE_URL", "KG_RERANK__API_KEY")
_OTHER_FORM = {400, 422}
"""What servers answer that miss a field they know, or meet one that they do not."""


def open_endpoint(settings: Settings, policy: RetryPolicy = POLICY) -> RemoteReranker:
    """Open the reranker; no request is sent yet.

    Raises:
        ConfigurationError: there is no address.
    """
    own = settings.rerank
    if own.base_url is None:
        raise ConfigurationError("KG_RERANK__BASE_URL is not set; set it to the server's address")
    provider = Provider(RERANKING, VARIABLES, own.model or "", own.base_url, own.api_key)
    limits = RerankLimits(own.batch_size, own.max_characters)
    return RemoteReranker(HttpEndpoint(provider), f"endpoint:{own.model or 'default'}", limits, policy)


class HttpEndpoint:
    """POST {base}/rerank: {query, documents} -> results, or TEI's {query, texts} -> a plain list.

    The first reply shows which of them the server speaks.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._client = JsonClient(provider, "/rerank")
        self._speaks_tei: bool | None = None

    def ask(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        response = self._client.post(self._body(query, texts, tei=self._speaks_tei is True), seconds)
        if self._speaks_tei is None and response.status_code in _OTHER_FORM:
            other = self._client.post(self._body(query, texts, tei=True), seconds)
            if other.status_code not in _OTHER_FORM:
                scores = self._read(other, query, texts)
                self._speaks_tei = True
                return scores
        scores = self._read(response, query, texts)
        self._speaks_tei = self._speaks_tei is True
        return scores

    def close(self) -> None:
        self._client.close()

    def _body(self, query: str, texts: Sequence[str], *, tei: bool) -> dict[str, object]:
        if tei:
            return {"query": query, "texts": list(texts)}
        model = {"model": self._provider.model} if self._provider.model else {}
        return {**model, "query": query, "documents": list(texts), "top_n": len(texts)}

    def _read(self, response: httpx.Response, query: str, texts: Sequence[str]) -> list[float]:
        body = self._client.read(response, [query, *texts])
        fields = fields_of(body)
        found = fields.get("results") if fields else body
        if not isinstance(found, list):
            raise self._provider.no_service()
        return in_order([self._pair(item) for item in cast("list[object]", found)], len(texts))

    def _pair(self, item: object) -> tuple[object, object]:
        fields = fields_of(item)
        if not fields:
            raise self._provider.no_service()
        return fields.get("index"), fields.get("relevance_score", fields.get("score"))
