"""Who must sign in first, and where they are led then: to pages of ours, whatever an address says."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from kg_api.web.access.scopes import is_page
from kg_api.web.ui.links import SEARCH, address
from kg_api.web.ui.rendering import render, wants_part

LOGIN: Final = "/ui/login"
LOGOUT: Final = "/ui/logout"
NOT_KEPT: Final = {"Cache-Control": "no-store"}
MAX_CHARACTERS: Final = 8000
_PLAIN: Final = re.compile(r"[!-\[\]-~]+")
"""ASCII that is seen, without the backslash, which browsers take for a slash."""


def page_to_show(wanted: str) -> str:
    """An address of a page of ours; the search, where it is anything else."""
    if len(wanted) > MAX_CHARACTERS or not _PLAIN.fullmatch(wanted):
        return SEARCH
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return SEARCH
    steps = unquote(parts.path).split("/")
    ours = not parts.scheme and not parts.netloc and is_page(parts.path)
    return wanted if ours and parts.path not in {LOGIN, LOGOUT} and not {".", ".."} & set(steps) else SEARCH


def lead_to_sign_in(request: Request) -> Response:
    """What somebody is answered who must sign in for what they asked for."""
    to = address(LOGIN, next=_to_show_then(request))
    if wants_part(request):
        return Response(status_code=401, headers={"HX-Redirect": to, **NOT_KEPT})
    if request.method == "GET" and request.headers.get("Sec-Fetch-Site") == "cross-site":
        return render("session/again.html", {"wanted": _own_address(request)})
    return RedirectResponse(to, 303, NOT_KEPT)


def _to_show_then(request: Request) -> str:
    """The page that was asked for; where a part of one was, or a form was sent, the page it is on."""
    if request.method == "GET" and not wants_part(request):
        return page_to_show(_own_address(request))
    shown = urlsplit(request.headers.get("HX-Current-URL") or request.headers.get("Referer", ""))
    return page_to_show(f"{shown.path}?{shown.query}" if shown.query else shown.path)


def _own_address(request: Request) -> str:
    path = quote(request.scope["path"], safe="/:@!$&'()*+,;=~")
    query = quote(request.scope["query_string"], safe="%/?:@!$&'()*+,;=~")
    return f"{path}?{query}" if query else path
