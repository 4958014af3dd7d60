"""OpenAI's official SDK on the bounded client, for models that embed and models that write.

Its own retries are off: `RetryPolicy` decides.
"""

from __future__ import annotations

from typing import Any

from kg_api.providers.extras import missing
from kg_api.providers.http import Edge, bounded_client
from kg_api.providers.retrying import ErrorReply, Provider

try:
    import httpx2
    import openai
except ImportError:
    raise missing("openai") from None

SDK_ERRORS = (openai.OpenAIError, httpx2.HTTPError, ValueError, RecursionError)
"""What reading a reply may raise; ValueError: a body that is not JSON; RecursionError: one of brackets."""
StatusError = openai.APIStatusError
omit: Any = openai.omit
"""Stands for a parameter that is not sent."""
_WITHOUT_KEY = "none"
"""Sent where no key is set: the SDK insists on one, servers of one's own mostly do not."""


def open_sdk(provider: Provider) -> openai.OpenAI:
    """Open a client; nothing is asked yet."""
    return openai.OpenAI(
        api_key=provider.secret or _WITHOUT_KEY,
        base_url=provider.address,
        max_retries=0,
        http_client=bounded_client(httpx2),
    )


def sdk_edge(provider: Provider) -> Edge:
    """How the client's errors are read."""
    return Edge(provider, httpx2, SDK_ERRORS, (openai.APIConnectionError,), _reply_of_openai_sdk)


def _reply_of_openai_sdk(error: Exception) -> ErrorReply | None:
    if not isinstance(error, StatusError):
        return None
    return ErrorReply.read(error.status_code, error.response.headers, error.body)
