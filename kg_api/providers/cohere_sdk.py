"""Cohere's official SDK on the bounded client, for its reranker and its embeddings of pictures.

Its own retries are off: `RetryPolicy` decides.
"""

from __future__ import annotations

from typing import Any

import httpx

from kg_api.providers.extras import missing
from kg_api.providers.http import Edge, bounded_client
from kg_api.providers.retrying import ErrorReply, Provider

try:
    import cohere
    from cohere.core.api_error import ApiError
except ImportError:
    raise missing("cohere") from None

_STRANGE = (ValueError, TypeError, RecursionError)
"""What the SDK raises for a body that it cannot read."""


class CohereSdk:
    """A client and its connections."""

    def __init__(self, provider: Provider) -> None:
        """Open a client; nothing is asked yet."""
        self._http: httpx.Client = bounded_client(httpx)
        self.client: Any = cohere.ClientV2(
            provider.secret, base_url=provider.address, max_retries=0, httpx_client=self._http
        )

    def close(self) -> None:
        self._http.close()


def request_options(seconds: float) -> dict[str, Any]:
    """One try, of so many seconds."""
    return {"timeout": seconds, "max_retries": 0}


def cohere_edge(provider: Provider) -> Edge:
    """How the client's errors are read."""
    return Edge(provider, httpx, (ApiError, *_STRANGE), reply_of=_reply_of)


def _reply_of(error: Exception) -> ErrorReply | None:
    match error:
        case ApiError(status_code=int(status)) if status >= 300:  # noqa: PLR2004 - no success
            return ErrorReply.read(status, error.headers or {}, error.body)
        case _:
            return None
