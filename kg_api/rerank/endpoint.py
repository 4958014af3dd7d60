"""Any server with a /rerank: as Cohere and Jina speak it (vLLM, Infinity, LiteLLM), or as TEI does."""

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
    key = own.api_key.get_secret_value() if own.api_key else None
    provider = Provider(own.model, own.base_url, key, "KG_RERANK__API_KEY", "KG_RERANK__BASE_URL")
    limits = Limits(own.batch_size, own.max_characters)
    return RemoteReranker(HttpEndpoint(provider), f"endpoint:{own.model or 'default'}", limits, policy)


class HttpEndpoint:
    """POST {base}/rerank: {query, documents} -> results, or TEI's {query, texts} -> a plain list.

    The first reply shows which of them the server speaks.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._url = f"{provider.address.rstrip('/')}/rerank"
        self._speaks_tei: bool | None = None
        headers = {"Authorization": f"Bearer {provider.key}"} if provider.key else {}
        self._client: httpx.Client = bounded_client(httpx, headers=headers)

    def ask(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """See `Endpoint`."""
        response = self._post(self._body(query, texts, tei=self._speaks_tei is True), seconds)
        if self._speaks_tei is None and response.status_code in _OTHER_FORM:
            other = self._post(self._body(query, texts, tei=True), seconds)
            if other.status_code not in _OTHER_FORM:
                scores = self._read(other, [query, *texts])
                self._speaks_tei = True
                return scores
        scores = self._read(response, [query, *texts])
        self._speaks_tei = self._speaks_tei is True
        return scores

    def close(self) -> None:
        """See `Endpoint`."""
        self._client.close()

    def _body(self, query: str, texts: Sequence[str], *, tei: bool) -> dict[str, object]:
        if tei:
            return {"query": query, "texts": list(texts)}
        model = {"model": self._provider.model} if self._provider.model else {}
        return {**model, "query": query, "documents": list(texts), "top_n": len(texts)}

    def _post(self, body: dict[str, object], seconds: float) -> httpx.Response:
        try:
            return self._client.post(self._url, json=body, timeout=seconds)
        except httpx.TimeoutException:
            failure = TryAgain(f"{self._provider.address} did not answer in time")
        except httpx.HTTPError as error:
            failure = unreached(self._provider, error)
        raise failure  # outside: the client's error holds the request, and with it the key

    def _read(self, response: httpx.Response, sent: Sequence[str]) -> list[float]:
        if not response.is_success:
            raise understood(
                Refusal(response.status_code, response.headers, _said(response)), self._provider, sent
            )
        return in_order([self._pair(item) for item in self._items(response)], len(sent) - 1)

    def _items(self, response: httpx.Response) -> list[object]:
        try:
            body: object = response.json()
        except ValueError:
            raise no_reply(self._provider) from None
        found = cast("dict[str, object]", body).get("results") if isinstance(body, dict) else body
        if not isinstance(found, list):
            raise no_reply(self._provider)
        return cast("list[object]", found)

    def _pair(self, item: object) -> tuple[Any, Any]:
        if not isinstance(item, dict):
            raise no_reply(self._provider)
        fields = cast("dict[str, Any]", item)
        return fields.get("index"), fields.get("relevance_score", fields.get("score"))


def _said(response: httpx.Response) -> str:
    """What a refusal says in words, where it is JSON as these servers give it."""
    try:
        body: object = response.json()
    except ValueError:
        return ""
    fields = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    error = fields.get("error")
    inner = cast("dict[str, object]", error).get("message") if isinstance(error, dict) else error
    return str(inner or fields.get("message") or fields.get("detail") or "")
