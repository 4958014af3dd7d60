"""Keeps other web pages out: a page that a browser shows may send requests to this machine.

Where no keys are required, whoever may send a request may read and write. The service answers under names
that it knows (against DNS rebinding), and to pages of its own and those that the settings allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.errors import ConfigurationError
from kg_api.settings import ApiSettings
from kg_api.web.access.scopes import is_page
from kg_api.web.forwarded import FORWARDED_HOST
from kg_api.web.problems import problem
from kg_api.wording.hosts import is_loopback

LINKED = frozenset({"/", "/docs"})
"""What a link of another page may lead to, beside the pages below /ui."""
OURS = frozenset({"same-origin", "none"})
"""`none`: an address that somebody typed, or a bookmark."""
MAX_SHOWN_NAME = 100
_PORTS = {"http": 80, "https": 443}


def allowed_hosts(settings: ApiSettings) -> frozenset[str]:
    """The names under which the service answers, beside those of loopback.

    Raises:
        ConfigurationError: it listens beyond this machine, and no name is given.
    """
    named = settings.allowed_host_names
    if is_loopback(settings.host):
        return frozenset(named)
    if not named:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} listens beyond this machine: set KG_API__ALLOWED_HOSTS to the "
            "names and addresses that clients use for it, such as kg.example.org,192.0.2.7"
        )
    return frozenset({*named, settings.host} - {"0.0.0.0", "::"})  # noqa: S104 - a name that nobody calls


class OriginCheck:
    """Refuses requests of foreign pages and under foreign names.

    Args:
        app: what comes next.
        hosts: names under which the service answers; those of loopback always do.
        origins: of other pages that may ask it.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self.app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope, Headers(scope=scope))
            if refusal is not None:
                await problem(*refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str, str] | None:
        host = headers.get("host", "")
        name = _authority(f"http://{host}")[0]
        if not self._is_known(name):
            told = (
                f"this service does not answer to the name {name[:MAX_SHOWN_NAME]!r} of the Host header: "
                "where it is one of its names, add it to KG_API__ALLOWED_HOSTS and start the service anew"
            )
            return 421, "http", "Misdirected", told
        origin = headers.get("origin")
        if origin in self._origins:
            return None
        foreign = origin is not None and not any(_is_same(origin, each) for each in self._own(scope, host))
        if foreign or (headers.get("sec-fetch-site", "none") not in OURS and not _is_visit(scope, headers)):
            told = "requests of other web pages are refused; KG_API__ALLOWED_ORIGINS can allow some"
            return 403, "http", "Forbidden", told
        return None

    def _is_known(self, name: str) -> bool:
        return is_loopback(name) or name in self._hosts

    def _own(self, scope: Scope, host: str) -> list[str]:
        """The hosts whose pages are ours: the one asked for, and the one that a proxy was asked for."""
        forwarded: str = scope.get(FORWARDED_HOST, "").partition(",")[0].strip()
        return [host, *([forwarded] if self._is_known(_authority(f"http://{forwarded}")[0]) else [])]


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to one of the pages."""
    return (
        scope["method"] == "GET"
        and (scope["path"] in LINKED or is_page(scope["path"]))
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _is_same(origin: str, host: str) -> bool:
    scheme = origin.partition("://")[0]
    return scheme in _PORTS and _authority(origin) == _authority(f"{scheme}://{host}")


def _authority(address: str) -> tuple[str, int | None]:
    """Name and port; no name where the address is none."""
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None
