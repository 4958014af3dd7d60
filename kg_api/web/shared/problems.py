"""Error responses as problem+json (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from kg_api.errors import KgError, RateExceeded, StorageFull, TooBusy, Unavailable
from kg_api.schemas.operations import redact_keys
from kg_api.schemas.problems import (
    NO_ROUTE,
    SOMETHING_WRONG,
    Problem,
    build_field_problem,
    build_problem,
    to_unicode,
)
from kg_api.web.shared.openapi import MEDIA_TYPE

log = structlog.get_logger()

RETRY_AFTER_SECONDS = 2
FULL_RETRY_AFTER_SECONDS = 30
METHOD_NOT_ALLOWED = 405
MAX_SHOWN_PATH = 200
"""Maximum number of characters to show from a path in an error."""


class ProblemResponse(JSONResponse):
    """Problem document. Lone surrogates in quoted input are replaced."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """Return JSON in UTF-8 for any text."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def respond_with_problem(status: int, kind: str, title: str, detail: str) -> Response:
    title, detail = to_unicode(title), to_unicode(detail)
    return _build_response(Problem(type=f"urn:kg:{kind}", title=title, status=status, detail=detail))


def _build_response(told: Problem) -> Response:
    wait = {
        Unavailable.status: RETRY_AFTER_SECONDS,
        StorageFull.status: FULL_RETRY_AFTER_SECONDS,
        TooBusy.status: TooBusy.retry_after_seconds,
    }.get(told.status)
    headers = None if wait is None else {"Retry-After": str(wait)}
    body = told.model_dump(exclude_defaults=True)
    return ProblemResponse(body, status_code=told.status, headers=headers)


def build_error_problem(error: KgError) -> Response:
    response = _build_response(build_problem(error))
    if isinstance(error, RateExceeded):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    return response


def install(app: FastAPI, routes: Sequence[BaseRoute] = ()) -> None:
    """Add the error handlers to the application."""
    app.state.known_routes = routes
    app.exception_handler(KgError)(_on_kg_error)
    app.exception_handler(RequestValidationError)(_on_invalid)
    app.exception_handler(HTTPException)(_on_http_error)


def answer_error(request: Request, error: KgError | HTTPException | RequestValidationError) -> Response:
    """Build the response to an error in a route that is not served by FastAPI."""
    if isinstance(error, KgError):
        return _on_kg_error(request, error)
    return _on_http_error(request, error) if isinstance(error, HTTPException) else _on_invalid(request, error)


def _on_kg_error(_: Request, error: KgError) -> Response:
    if error.status >= KgError.status:
        log.error("request failed", error=type(error).__name__, detail=str(error))
    return build_error_problem(error)


def _on_invalid(request: Request, error: RequestValidationError) -> Response:
    field = getattr(request.scope.get("route"), "body_field", None)
    model = None if field is None else field.field_info.annotation
    return _build_response(build_field_problem(error.errors(), model))


def _on_http_error(request: Request, error: HTTPException) -> Response:
    title = HTTPStatus(error.status_code).phrase
    nowhere = error.status_code == HTTPStatus.NOT_FOUND and error.detail == title
    response = respond_with_problem(
        error.status_code, "http", title, _describe_unknown_path(request) if nowhere else error.detail
    )
    response.headers.update(error.headers or {})
    if error.status_code == METHOD_NOT_ALLOWED and (methods := _list_methods(request)):
        response.headers["Allow"] = ", ".join(methods)
    return response


def _describe_unknown_path(request: Request) -> str:
    """Describe a path that has no route."""
    asked = f"{request.method} {redact_keys(request.url.path[:MAX_SHOWN_PATH])}"
    return f"{NO_ROUTE} {asked}. /openapi.json describes all paths"


def _list_methods(request: Request) -> list[str]:
    """List all methods of a path. Each route knows only its own."""
    known: Sequence[BaseRoute] = request.app.state.known_routes
    routes = [each for each in known if each.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in getattr(route, "methods", None) or ()})


def build_shutdown_problem() -> Response:
    """Build the response to requests that are interrupted by a shutdown."""
    return build_error_problem(Unavailable("the service stopped before the end of this request. Try again"))


def build_bug_problem() -> Response:
    """Build the response to unexpected errors. This does not include details."""
    return _build_response(build_problem(KgError(SOMETHING_WRONG)))
