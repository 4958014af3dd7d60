"""Connection options, authentication and connection errors of both clients."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kg_api.client.call import Call
from kg_api.errors import ConfigurationError, ServiceUnreachable
from kg_api.wording import HOME_HEADER, is_loopback

DEFAULT_TIMEOUT_SECONDS = 60.0
# timeout of an upload or a transfer: OCR takes long, and other uploads may be ahead in the queue
MAX_READING_SECONDS = 900.0


# API key, or a function that returns the key for a request's method and path
KeySource = str | Callable[[str, str], str] | None


@dataclass(frozen=True, slots=True)
class ExpectedHome:
    """Home that the service must have, because another kg may use the same URL later."""

    instance: str
    describe_other: Callable[[], str]
    """Function to describe another program at this URL, and how to fix this."""


class ClientAuth(httpx.Auth):
    """Sends an API key with each request, and checks that the service belongs to the expected home.

    If the request is for another home, the service rejects it, but another program would not. To prevent
    this, a HEAD request is sent before each request with data, until the home has responded.
    """

    def __init__(self, key: Callable[[str, str], str] | None, expected: ExpectedHome | None) -> None:
        self._key = key
        self._expected = expected
        self._is_proven = False

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Add the headers. Raise ServiceUnreachable if another program answers."""
        if self._expected is not None and not self._is_proven and request.method not in {"GET", "HEAD"}:
            self._check((yield self._probe(request, self._expected)), self._expected)
        if self._key is not None:
            path = request.url.raw_path.partition(b"?")[0].decode("ascii")
            request.headers["Authorization"] = f"Bearer {self._key(request.method, path)}"
        if self._expected is not None:
            request.headers[HOME_HEADER] = self._expected.instance
        response = yield request
        if self._expected is not None:
            self._check(response, self._expected)

    def _probe(self, request: httpx.Request, expected: ExpectedHome) -> httpx.Request:
        headers = {HOME_HEADER: expected.instance, "Host": request.headers["Host"]}
        url = request.url.copy_with(path="/health", query=None)
        return httpx.Request("HEAD", url, headers=headers, extensions=request.extensions)

    def _check(self, response: httpx.Response, expected: ExpectedHome) -> None:
        answered = response.headers.get(HOME_HEADER)
        if answered == expected.instance:
            self._is_proven = True
        elif answered is not None or not self._is_proven:  # uvicorn's own errors lack the headers of kg
            raise ServiceUnreachable(expected.describe_other())


def options(
    base_url: str, api_key: KeySource, timeout_seconds: float, expected_home: ExpectedHome | None = None
) -> dict[str, Any]:
    """Build the options for an httpx client. On this machine, proxies from the environment are not used.

    Raises:
        ConfigurationError: The URL or the API key is invalid.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"KG_API_URL is not a valid URL: {error}") from None
    if url.port is not None and not 0 < url.port < 2**16:
        raise ConfigurationError(f"KG_API_URL is not a valid URL: invalid port {url.port}")
    # Without TLS on loopback, the certificates (25 to 45 ms) are not loaded
    return {
        "base_url": url,
        "auth": _auth(api_key, expected_home),
        "timeout": timeout_seconds,
        "trust_env": not is_loopback(url.host),
        "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if url.scheme == "http" and is_loopback(url.host)
        else True,
    }


def traced(headers: Mapping[str, str]) -> dict[str, str]:
    """Add the current trace to the headers, if the calling program has imported OpenTelemetry."""
    found = dict(headers)
    if "opentelemetry.trace" in sys.modules:
        from kg_api.tracing import carry_trace  # noqa: PLC0415 - the import takes 60 ms without tracing

        carry_trace(found)
    return found


def _auth(api_key: KeySource, expected_home: ExpectedHome | None) -> httpx.Auth | None:
    if isinstance(api_key, str) and not (api_key.isascii() and api_key.isprintable()):
        raise ConfigurationError("KG_API_KEY contains characters that no API key has")
    if not api_key and expected_home is None:
        return None
    if callable(api_key) or not api_key:
        return ClientAuth(api_key or None, expected_home)
    return ClientAuth(lambda _method, _path: api_key, expected_home)


def parts(client: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> dict[str, Any]:
    """Build the arguments for an httpx request, except method and path.

    Uploads (OCR), imports, and exports can take several minutes.
    """
    told = {
        "params": call.params,
        "json": call.json,
        "content": call.content,
        "data": call.data,
        "files": call.files,
        "headers": traced(call.headers),
    }
    if call.files is not None or call.path.startswith(("/import/", "/export")):
        usual = client.timeout
        read = max(usual.read or MAX_READING_SECONDS, MAX_READING_SECONDS)
        told["timeout"] = httpx.Timeout(connect=usual.connect, read=read, write=usual.write, pool=usual.pool)
    return told


def report_unreachable(base_url: httpx.URL, error: httpx.RequestError) -> ServiceUnreachable:
    """Build an error for a request that failed or timed out."""
    if isinstance(error, httpx.ReadTimeout):
        return ServiceUnreachable(
            f"kg at {redact_url(base_url)} did not respond in time. The request may still be in "
            "progress: check before you repeat"
        )
    return ServiceUnreachable(
        f"kg does not respond at {redact_url(base_url)} ({type(error).__name__}). Start kg with `kg "
        "up`, or set KG_API_URL"
    )


def redact_url(url: httpx.URL) -> str:
    """Remove credentials and query from a URL."""
    return str(url.copy_with(username="", password="", query=None))
