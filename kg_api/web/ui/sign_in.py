"""Redirects to the sign-in page and back. A redirect can only lead to a page in kg."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.routing import BaseRoute, Match

from kg_api.web.shared.forwarded import own_path
from kg_api.web.shared.scopes import PAGES, is_page
from kg_api.web.ui.links import address
from kg_api.web.ui.rendering import render, wants_part

LOGIN: Final = "/ui/login"
LOGOUT: Final = "/ui/logout"
NOT_KEPT: Final = {"Cache-Control": "no-store"}
MAX_CHARACTERS: Final = 8000
_PLAIN: Final = re.compile(r"[!-\[\]-~]+")
"""Visible ASCII. The backslash is not included, because browsers use it as a slash."""


def choose_page(request: Request, wanted: str) -> str:
    """Choose where to go after sign-in: to the given URL, the page with a form, or the search page."""
    if len(wanted) > MAX_CHARACTERS or not _PLAIN.fullmatch(wanted) or wanted.startswith("//"):
        return "/ui/search"
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return "/ui/search"
    steps = unquote(parts.path).split("/")
    ours = not parts.scheme and not parts.netloc and is_page(parts.path)
    if not ours or parts.path in {LOGIN, LOGOUT} or {".", ".."} & set(steps):
        return "/ui/search"
    got = find_nearest_page(request, parts.path)
    return wanted if got == parts.path else got


def find_nearest_page(request: Request, path: str) -> str:
    """Get the path if it is a page. If it is not, get the nearest parent page."""
    routes: Sequence[BaseRoute] = request.app.state.known_routes
    while path != PAGES and not _can_be_got(routes, path):
        path = path.rpartition("/")[0]
    return path


def _can_be_got(routes: Sequence[BaseRoute], path: str) -> bool:
    scope = {"type": "http", "method": "GET", "path": unquote(path), "root_path": ""}
    return any(each.matches(scope)[0] is Match.FULL for each in routes)


def lead_to_page(request: Request) -> Response:
    """Redirect to a page, if you have opened the target of a form."""
    return RedirectResponse(find_nearest_page(request, _quote_path(request)), 303, NOT_KEPT)


def get_previous_page(request: Request) -> str:
    """Find the page to link back from an error, such as the page with the form."""
    path = _quote_path(request)
    if request.method == "GET" and not request.scope["query_string"]:
        path = path.rpartition("/")[0]
    found = find_nearest_page(request, path) if is_page(path) else PAGES
    return "/ui/search" if found == PAGES else found


def redirect_to_sign_in(request: Request) -> Response:
    to = address(LOGIN, next=_choose_next_page(request))
    if wants_part(request):
        return Response(status_code=401, headers={"HX-Redirect": to, **NOT_KEPT})
    if request.method == "GET" and request.headers.get("Sec-Fetch-Site") == "cross-site":
        return render("session/again.html", {"wanted": _quote_address(request)})
    return RedirectResponse(to, 303, NOT_KEPT)


def _choose_next_page(request: Request) -> str:
    """Choose which page to show after sign-in: the requested page, or the page with a part or form."""
    if request.method == "GET" and not wants_part(request):
        return choose_page(request, _quote_address(request))
    page_url = urlsplit(request.headers.get("HX-Current-URL") or request.headers.get("Referer", ""))
    path = own_path(page_url.path)
    return choose_page(request, f"{path}?{page_url.query}" if page_url.query else path)


def _quote_path(request: Request) -> str:
    return quote(request.scope["path"], safe="/:@!$&'()*+,;=~")


def _quote_address(request: Request) -> str:
    query = quote(request.scope["query_string"], safe="%/?:@!$&'()*+,;=~")
    return f"{_quote_path(request)}?{query}" if query else _quote_path(request)
