"""Keeps other web pages out: a page that a browser shows may send requests to this machine.

There are no keys yet, so whoever may send a request may read and write. A service that listens on loopback
answers only to loopback's names (against DNS rebinding); any service refuses a foreign Origin.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.web.problems import problem


def is_loopback(host: str) -> bool:
    """Whether a host's name stands for this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class OriginCheck:
    """Refuses requests of foreign pages and under foreign names.

    Args:
        app: what comes next.
        host: where the service listens.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app = app
        self.local_only = is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                await problem(*refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str, str, str] | None:
        host = _name(f"//{headers.get('host', '')}")
        if self.local_only and not is_loopback(host):
            return 421, "http", "Misdirected", "this service answers to loopback names only, not to that Host"
        origin = headers.get("origin")
        if origin is not None and _name(origin) != host and not is_loopback(_name(origin)):
            return 403, "http", "Forbidden", "requests of other web pages are refused"
        return None


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
