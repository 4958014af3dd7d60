"""Routes and error pages of the web UI."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from fastapi import Depends, FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.web.shared.openapi import MEDIA_TYPE
from kg_api.web.shared.problems import MAX_SHOWN_PATH
from kg_api.web.shared.scopes import is_page
from kg_api.web.shared.security import check_csrf, read_caller, set_viewer
from kg_api.web.ui import rendering
from kg_api.web.ui.rendering import render, sentence, wants_part
from kg_api.web.ui.routes import evaluation, knowledge, library, operation, queries
from kg_api.web.ui.sign_in import get_previous_page, lead_to_page, redirect_to_sign_in

PAGES = tuple(each.pages.router for each in (queries, library, knowledge, operation, evaluation))


def mount(app: FastAPI) -> None:
    app.include_router(rendering.router)
    for router in PAGES:
        app.include_router(router, dependencies=[Depends(check_csrf)])


# Error pages

HEADINGS: Final = {
    403: "Access denied",
    404: "Not found",
    409: "Not possible now",
    413: "Too large",
    422: "Check your input",
    429: "Too many requests",
    503: "kg is not ready",
    507: "The disk is full",
}
NAMELESS: Final = {"where": "Check the filter", "query_text": "Check the query"}
"""Fields whose name is not shown, with the heading of their errors."""


def get_heading(problem: dict[str, Any]) -> str:
    fields = {each["field"].partition(".")[0] for each in problem.get("errors", ())}
    heading = next((NAMELESS[field] for field in fields if field in NAMELESS), None)
    return heading or HEADINGS.get(problem["status"], "Something went wrong")


def list_sentences(problem: dict[str, Any], path: str) -> list[str]:
    """Return the sentences of a problem to show, without nested field paths."""
    if problem["status"] == HTTPStatus.NOT_FOUND and problem["type"] == "urn:kg:http":
        return [f"No page at {path[:MAX_SHOWN_PATH]}."]
    messages: dict[str, str] = {}
    for each in problem.get("errors", ()):
        field, message = each["field"].partition(".")[0], each["message"]
        messages.setdefault(field, message if field in NAMELESS else f"{field}: {message}")
    return [sentence(each) for each in messages.values() or [problem["detail"]]]


KEPT: Final = ("retry-after", "www-authenticate", "allow", "set-cookie", "x-request-id")
"""Headers that an error page copies from the problem response."""


class ErrorPages:
    """Middleware that shows problem documents as pages and redirects anonymous users to the sign-in page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_page(scope["path"]):
            problem = _Problem(scope, receive, send)
            await self.app(scope, receive, problem.send)
            return
        await self.app(scope, receive, send)


class _Problem:
    """Response that becomes an error page if it is a problem document, and is forwarded otherwise."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        is_start = message["type"] == "http.response.start"
        if is_start and Headers(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._show(self._start)

    async def _show(self, start: Message) -> None:
        request, sent_headers = Request(self._scope), Headers(raw=start["headers"])
        has_key = request.headers.get("authorization", "").lower().startswith("bearer ")  # browsers send none
        is_navigation = request.method == "GET" and not wants_part(request)
        if start["status"] == HTTPStatus.UNAUTHORIZED and not has_key:
            page, kept = redirect_to_sign_in(request), {"x-request-id"}
        elif start["status"] == HTTPStatus.METHOD_NOT_ALLOWED and is_navigation:
            page, kept = lead_to_page(request), {"x-request-id"}
        else:
            page, kept = self._render_page(request, start["status"]), set(KEPT)
        page.headers.update({name: sent_headers[name] for name in kept if name in sent_headers})
        await page(self._scope, self._receive, self._send)

    def _render_page(self, request: Request, status: int) -> Response:
        problem: dict[str, Any] = json.loads(self._body)
        context = {"heading": get_heading(problem), "sentences": list_sentences(problem, request.url.path)}
        context["back"] = get_previous_page(request)
        template = "problem/part.html" if wants_part(request) else "problem/page.html"
        with set_viewer(read_caller(self._scope)):
            return render(template, context, status)
