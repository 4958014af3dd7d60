"""What a reverse proxy says of a request: its client, its scheme, its host, and the path below which kg is.

Routes, templates and scripts know nothing of the path: it is removed from a request before they see it, and
added to each address of the response.
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
"""Where the scope of a request has the host that a trusted proxy names."""
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_WITH_ADDRESS: Final = ("location", "hx-redirect", "hx-location", "hx-push-url", "hx-replace-url")
_ADDRESS: Final = re.compile(
    r"(?<=\s)((?:href|src|action|formaction|hx-(?:get|post|put|patch|delete)|sse-connect"
    r'|data-(?:address|below|curves|map|once|passages))=")(?=/(?!/))'
)
"""Of a page, whose texts cannot have a plain quotation mark: those are escaped."""
_prefix: Final[ContextVar[str]] = ContextVar("path_prefix", default="")


class Forwarded:
    """Applies the headers of trusted proxies, and the path below which kg is (KG_API__ROOT_PATH).

    Args:
        app: the next application.
        root_path: the path below which clients reach kg, without a final slash; "": none, unless a trusted
            proxy says so in X-Forwarded-Prefix.
        trusted: addresses and networks of proxies, as uvicorn takes them (FORWARDED_ALLOW_IPS).
    """

    def __init__(self, app: ASGIApp, root_path: str, trusted: list[str] | str) -> None:
        self._root_path = root_path
        self._proxied = ProxyHeadersMiddleware(app, trusted)  # pyright: ignore[reportArgumentType] - ASGI by another name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._proxied(scope, receive, send)  # pyright: ignore[reportArgumentType] - as above
            return
        prefix = self._root_path
        if (scope.get("client") or ("",))[0] in self._proxied.trusted_hosts:
            headers = Headers(scope=scope)
            prefix = prefix or _prefix_in(headers.get("x-forwarded-prefix", ""))
            if host := headers.get("x-forwarded-host"):
                scope[FORWARDED_HOST] = host
        if self._root_path:
            _remove(self._root_path, scope)
        before = _prefix.set(prefix)
        try:
            await self._proxied(scope, receive, _sending_below(prefix, send) if prefix else send)  # pyright: ignore[reportArgumentType] - as above
        finally:
            _prefix.reset(before)


def path_prefix() -> str:
    """The path below which the client of this request reaches kg; "": none."""
    return _prefix.get()


def below_prefix(path: str) -> str:
    """A path of kg as the client of this request sees it."""
    return _prefix.get() + path


def own_path(path: str) -> str:
    """A path as the client of this request sees it, as a path of kg."""
    prefix = _prefix.get()
    return path.removeprefix(prefix) if prefix and path.startswith(f"{prefix}/") else path


def page_below_prefix(page: str) -> str:
    """Add the path to each address of a page."""
    prefix = _prefix.get()
    return _ADDRESS.sub(lambda found: found[1] + prefix, page) if prefix else page


def pieces_below_prefix(pieces: Iterable[str]) -> Iterator[str]:
    """Do the same piece by piece; each ends with a tag, so that no address is divided."""
    rest = ""
    for piece in pieces:
        whole, end, rest = f"{rest}{piece}".rpartition(">")  # not `+`: jinja's Markup escapes what is added
        yield page_below_prefix(whole + end)
    yield page_below_prefix(rest)


def _prefix_in(header: str) -> str:
    """The path of a header; of several proxies the outermost is the first. "" if it is none."""
    prefix = header.partition(",")[0].strip().rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def _remove(prefix: str, scope: Scope) -> None:
    """A proxy removes the path itself, or passes it on: both are right."""
    path: str = scope["path"]
    if path != prefix and not path.startswith(f"{prefix}/"):
        return
    scope["path"] = path.removeprefix(prefix) or "/"
    scope["raw_path"] = scope["raw_path"].removeprefix(prefix.encode()) or b"/"


def _sending_below(prefix: str, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name in _WITH_ADDRESS:
                value = headers.get(name, "")
                if value.startswith("/") and not value.startswith("//"):
                    headers[name] = prefix + value
        await send(message)

    return sending
