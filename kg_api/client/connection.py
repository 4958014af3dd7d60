"""How both clients reach the service."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable, Generator, Mapping
from typing import Any

import httpx

from kg_api.client.call import Call
from kg_api.errors import ConfigurationError, ServiceUnreachable
from kg_api.wording.hosts import is_loopback

DEFAULT_TIMEOUT_SECONDS = 60.0
MAX_SILENCE_SECONDS = 45.0
"""After so long without a sign a stream counts as broken; the service gives one every ten."""
MAX_THINKING_SECONDS = 120.0
"""The same of an answer: before its first event a language model may be asked for what to search by."""

MAX_READING_SECONDS = 900.0
"""The same of a file that is sent: its pages may be pictures, and others may be read before it."""


KeySource = str | Callable[[str, str], str] | None
"""An API key, or what makes one of a request's method and path; None: none is sent."""


class BearerAuth(httpx.Auth):
    """Sends a key with each request, also of an address that brings a name and a password."""

    def __init__(self, key: Callable[[str, str], str]) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Add the header."""
        path = request.url.raw_path.partition(b"?")[0].decode("ascii")
        request.headers["Authorization"] = f"Bearer {self._key(request.method, path)}"
        yield request


def options(base_url: str, api_key: KeySource, timeout_seconds: float) -> dict[str, Any]:
    """What an httpx client is opened with. No proxy of the environment stands before this machine itself.

    Raises:
        ConfigurationError: the address or the key cannot be one.
    """
    url = _address(base_url)
    return {
        "base_url": url,
        "auth": _auth(api_key),
        "timeout": timeout_seconds,
        "trust_env": not is_loopback(url.host),
        "verify": _verification(url),
    }


def traced(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with the trace that the calling program is in, if it has imported OpenTelemetry at all."""
    found = dict(headers)
    if "opentelemetry.trace" in sys.modules:
        from kg_api.tracing.spans import carry_trace  # noqa: PLC0415 - 60 ms, where nobody traces

        carry_trace(found)
    return found


def _auth(api_key: KeySource) -> httpx.Auth | None:
    if callable(api_key):
        return BearerAuth(api_key)
    if not api_key:
        return None
    if not (api_key.isascii() and api_key.isprintable()):
        raise ConfigurationError("KG_API_KEY contains characters that no API key has")
    return BearerAuth(lambda _method, _path: api_key)


def patience(usual: httpx.Timeout, call: Call[Any]) -> dict[str, Any]:
    """What a call may wait for its answer: to read a file's pages by OCR takes minutes.

    So may what is imported or exported at once.
    """
    if call.files is None and not call.path.startswith(("/import/", "/export")):
        return {}
    read = max(usual.read or MAX_READING_SECONDS, MAX_READING_SECONDS)
    return {"timeout": httpx.Timeout(connect=usual.connect, read=read, write=usual.write, pool=usual.pool)}


def _verification(url: httpx.URL) -> ssl.SSLContext | bool:
    """To load the certificates that a machine trusts takes 25 to 45 ms, and a plain request needs none."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.scheme == "http" and is_loopback(url.host) else True


def _address(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"KG_API_URL is not a valid URL: {error}") from None
    if url.port is not None and not 0 < url.port < 2**16:
        raise ConfigurationError(f"KG_API_URL is not a valid URL: there is no port {url.port}")
    return url


def unreachable(base_url: httpx.URL, error: httpx.RequestError) -> ServiceUnreachable:
    """No answer at all, or none in time."""
    if isinstance(error, httpx.ReadTimeout):
        return ServiceUnreachable(
            f"kg at {redact_url(base_url)} did not answer in time; it may still be working:"
            " check before you repeat"
        )
    return ServiceUnreachable(
        f"kg does not answer at {redact_url(base_url)} ({type(error).__name__}); "
        "start it with `kg up`, or set KG_API_URL"
    )


def redact_url(url: httpx.URL) -> str:
    """An address without what may be secret in it."""
    return str(url.copy_with(username="", password="", query=None))
