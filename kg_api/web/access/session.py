"""Sessions of the page over HTTP: their cookie, and what a form must bring beside it."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response
from starlette.requests import HTTPConnection
from starlette.types import Scope

from kg_api.access.check import Access
from kg_api.access.sessions import SESSION_SECONDS
from kg_api.access.token import SessionToken, parse_session_token
from kg_api.errors import Forbidden
from kg_api.models.vocabulary import KeyScope
from kg_api.web.access.scopes import is_page
from kg_api.web.forwarded import path_prefix

COOKIE: Final = "kg_session"
"""How its name begins. The port comes behind: a browser keeps the cookies of all ports of a host together,
and another kg may be on another port."""
HTTPS: Final = "__Host-"
"""What has a name that begins so, browsers keep only from the service itself, by https."""
BELOW_PATH: Final = "__Secure-"
"""The same for a cookie that browsers send below one path alone, which HTTPS excludes."""
_PORT: Final = re.compile(r":(\d{1,5})$")
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf_token"
MAX_FILES, MAX_FIELDS, MAX_FIELD_BYTES = 2, 20, 64 * 1024
"""Of forms that are sent without a script, which sends the token as a header."""
READING: Final = frozenset({"GET", "HEAD"})
_SESSION: Final = "kg_session"
"""Where a request's state has it."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is signed in and looks at a page."""

    key_id: str
    name: str
    """Of the key."""
    csrf_token: str
    access: Access


_VIEWER: Final[ContextVar[Viewer | None]] = ContextVar("viewer", default=None)


def viewer() -> Viewer | None:
    """Who looks at the page that is made; None: nobody is signed in."""
    return _VIEWER.get()


def may(scope: KeyScope, ontology: str | None = None) -> bool:
    """Whether whoever looks can do what needs a scope.

    Args:
        scope: that it needs.
        ontology: that it is about; None: administering all of kg takes a key of all.
    """
    who = viewer()
    if who is None:
        return True
    own = who.access.ontologies
    return who.access.allows(scope) and (scope != "admin" or own is None or ontology in own)


@contextmanager
def in_session(scope: Scope, access: Access) -> Generator[None]:
    """Let pages that are made within know who is signed in."""
    token = session_of(scope)
    shown = None if token is None else Viewer(access.key_id, access.name, token.csrf_token, access)
    before = _VIEWER.set(shown)
    try:
        yield
    finally:
        _VIEWER.reset(before)


def sent_session(scope: Scope) -> SessionToken | None:
    """The session that a request brings, be it good or not; by https no cookie counts that others may set."""
    connection = HTTPConnection(scope)
    cookies, name = connection.cookies, _name(connection)
    plain = "" if scope["scheme"] == "https" else cookies.get(name, "")
    return parse_session_token(cookies.get(_security() + name) or plain)


def usable_session(scope: Scope) -> SessionToken | None:
    """The same where it counts: to change something, on pages alone, whose forms bring more than a cookie."""
    counts = scope["method"] in READING or is_page(scope["path"])
    return sent_session(scope) if counts else None


def note_session(scope: Scope, token: SessionToken) -> None:
    """A request is of a session that is good."""
    scope["state"][_SESSION] = token


def session_of(scope: Scope) -> SessionToken | None:
    """The good session that a request is of; None: it is of none."""
    return scope["state"].get(_SESSION)


async def check_csrf(request: Request) -> None:
    """Refuse what is sent with a session's cookie alone: a foreign page may have made the browser send it.

    Raises:
        Forbidden: the token of a page is missing or of another session.
    """
    token = session_of(request.scope)
    if token is None or request.method in READING:
        return
    sent = request.headers.get(CSRF_HEADER) or await _sent_by_form(request)
    if not (isinstance(sent, str) and token.has_csrf_token(sent)):
        raise Forbidden(
            "the page that sent this was loaded before somebody signed in: go back to it, load it anew, and "
            "send it again"
        )


async def _sent_by_form(request: Request) -> object:
    bounds = {"max_files": MAX_FILES, "max_fields": MAX_FIELDS, "max_part_size": MAX_FIELD_BYTES}
    return (await request.form(**bounds)).get(CSRF_FIELD)


def keep_cookie(request: Request, response: Response, token: SessionToken) -> None:
    secure = _is_https(request)
    response.set_cookie(
        f"{_security() if secure else ''}{_name(request)}",
        token.text,
        max_age=SESSION_SECONDS,
        path=path_prefix() or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def drop_cookies(request: Request, response: Response) -> None:
    """Have a browser forget its session."""
    for name in (_name(request), _security() + _name(request)):
        if name in request.cookies:
            secure = name.startswith(_security())
            path = path_prefix() or "/"
            response.delete_cookie(name, path=path, secure=secure, httponly=True, samesite="strict")


def _security() -> str:
    """How the name of a cookie by https begins. Below a path, other services of the host must not get it."""
    return BELOW_PATH if path_prefix() else HTTPS


def _name(connection: HTTPConnection) -> str:
    """Of the cookie by plain http, with the port that the browser knows the service by."""
    port = _PORT.search(connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def _is_https(request: Request) -> bool:
    """As the browser sees it, also where a proxy that kg knows nothing of speaks https for it."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
