"""Headers of reverse proxies: client, scheme, host, and path prefix.

Routes, templates, and scripts do not know the prefix. kg removes it from requests and adds it to URLs in
responses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

FORWARDED_HOST: Final = "kg_forwarded_host"
"""Scope key for the host that is reported by a trusted proxy."""
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_WITH_ADDRESS: Final = ("location", "hx-redirect", "hx-location", "hx-push-url", "hx-replace-url")
_ADDRESS: Final = re.compile(
    r"(?<=\s)((?:href|src|action|formaction|hx-(?:get|post|put|patch|delete)|sse-connect"
    r'|data-(?:address|below|map|once|passages))=")(?=/(?!/))'
)
"""URL attributes in a page. Quotation marks in texts are escaped, so they do not match."""
_prefix: Final[ContextVar[str]] = ContextVar("path_prefix", default="")


class Forwarded:
    """Middleware to use headers from trusted proxies, and a path prefix (KG_API__ROOT_PATH).

    Args:
        app: Next application.
        root_path: Path prefix without a final slash. "": X-Forwarded-Prefix of a trusted proxy, or none.
        trusted: Addresses and networks of proxies in uvicorn's format (FORWARDED_ALLOW_IPS).
    """

    def __init__(self, app: ASGIApp, root_path: str, trusted: list[str] | str) -> None:
        self._root_path = root_path
        self._proxied = ProxyHeadersMiddleware(app, trusted)  # pyright: ignore[reportArgumentType] - ASGI types of another package

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._proxied(scope, receive, send)  # pyright: ignore[reportArgumentType] - as above
            return
        prefix = self._root_path
        if (scope.get("client") or ("",))[0] in self._proxied.trusted_hosts:
            headers = Headers(scope=scope)
            prefix = prefix or _read_prefix(headers.get("x-forwarded-prefix", ""))
            if host := headers.get("x-forwarded-host"):
                scope[FORWARDED_HOST] = host
        if self._root_path:
            _remove(self._root_path, scope)
        before = _prefix.set(prefix)
        try:
            await self._proxied(scope, receive, _prefix_locations(prefix, send) if prefix else send)  # pyright: ignore[reportArgumentType] - as above
        finally:
            _prefix.reset(before)


def get_path_prefix() -> str:
    """Get the path prefix for this request. "": none."""
    return _prefix.get()


def own_path(path: str) -> str:
    """Get the path in kg for a path that was used by the current client."""
    prefix = _prefix.get()
    return path.removeprefix(prefix) if prefix and path.startswith(f"{prefix}/") else path


def prefix_page(page: str) -> str:
    """Add the path prefix to each URL of a page."""
    prefix = _prefix.get()
    return _ADDRESS.sub(lambda found: found[1] + prefix, page) if prefix else page


def prefix_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Add the path prefix to each URL in a streamed page. Pieces are split after tags, to keep URLs whole."""
    rest = ""
    for piece in pieces:
        whole, end, rest = f"{rest}{piece}".rpartition(">")  # not `+`: jinja's Markup escapes its operand
        yield prefix_page(whole + end)
    yield prefix_page(rest)


def _read_prefix(header: str) -> str:
    """Read the prefix in a header, or "". With several proxies, the first is the outermost."""
    prefix = header.partition(",")[0].strip().rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def _remove(prefix: str, scope: Scope) -> None:
    """Remove the prefix from the path, if this was not done by the proxy."""
    path: str = scope["path"]
    if path != prefix and not path.startswith(f"{prefix}/"):
        return
    scope["path"] = path.removeprefix(prefix) or "/"
    scope["raw_path"] = scope["raw_path"].removeprefix(prefix.encode()) or b"/"


def _prefix_locations(prefix: str, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name in _WITH_ADDRESS:
                value = headers.get(name, "")
                if value.startswith("/") and not value.startswith("//"):
                    headers[name] = prefix + value
        await send(message)

    return sending
