"""Request id, log, metrics, and host checks for every request."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Callable
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.metrics import METHODS, NO_ROUTE, get_meters
from kg_api.schemas.operations import redact_keys
from kg_api.tracing import TRACEPARENT, Span, SpanKind, annotate, root_span
from kg_api.web.shared.limits import OriginCheck
from kg_api.web.shared.problems import build_bug_problem, build_shutdown_problem, respond_with_problem
from kg_api.web.shared.security import get_sender_fields
from kg_api.wording import HOME_HEADER

log = structlog.get_logger()

REQUEST_ID = "X-Request-ID"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
OWN_FAILURE = 500
"""First HTTP status of a server error."""
OTHER_HOME: Final = (
    "this kg serves another home than the command expects: start the kg of that home with `kg up`, or set "
    "KG_API_URL to use this one"
)
QUIET_PATHS = frozenset({"/health", "/ready"})


class RequestLog:
    """Middleware that sets a request id and logs each completed request.

    A valid id of the client is kept. The middleware also logs and answers unexpected errors, so the response
    has the id and the connection survives. It rejects requests for the service of another home, which had
    this port before, and requests with foreign origins or host names.
    """

    def __init__(
        self,
        app: ASGIApp,
        instance: Callable[[], str | None] = lambda: None,
        origins: OriginCheck | None = None,
    ) -> None:
        self.app = app
        self._instance, self._origins = instance, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _GOOD_ID.fullmatch(given) else uuid.uuid4().hex
        expected = headers.get(HOME_HEADER)
        home = None if expected is None else self._instance()
        answer = _Answer(send, request_id, home)
        app = self.app
        if expected != home:
            app = respond_with_problem(421, "http", "Misdirected", OTHER_HOME)
        elif self._origins and (refusal := self._origins.check(scope, headers)):
            app = respond_with_problem(*refusal)
        get_meters().count("http_requests_open")
        traced = root_span(
            _get_method(scope), SpanKind.SERVER, headers.get(TRACEPARENT), kg__request_id=request_id
        )
        with structlog.contextvars.bound_contextvars(request_id=request_id), traced as span:
            try:
                await app(scope, receive, answer.send)
            except ClientDisconnect:
                log.info("client disconnected")
            except asyncio.CancelledError:  # from uvicorn at the end of the grace period
                if answer.status:
                    raise
                await build_shutdown_problem()(scope, receive, answer.send)
            except Exception:  # log and answer bugs at the boundary of a request
                log.exception("unexpected error")
                if answer.status:
                    raise
                await build_bug_problem()(scope, receive, answer.send)
            finally:
                answer.record(scope, span)


class _Answer:
    """State of a response during sending."""

    def __init__(self, send: Send, request_id: str, home: str | None) -> None:
        self._send = send
        self._headers = {REQUEST_ID: request_id} | ({HOME_HEADER: home} if home else {})
        self._begun = time.perf_counter()
        self._began_after: float | None = None
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self._began_after = message["status"], time.perf_counter() - self._begun
            MutableHeaders(scope=message).update(self._headers)
        await self._send(message)

    def record(self, scope: Scope, span: Span) -> None:
        # Use the path template: paths contain names, and their number is unlimited
        method, route = _get_method(scope), getattr(scope.get("route"), "path_format", NO_ROUTE)
        meter, status = get_meters(), f"{self.status // 100}xx" if self.status else "none"
        meter.count("http_requests_open", by=-1)
        meter.count("http_requests", method, route, status)
        if self._began_after is not None:
            meter.observe("http_request_seconds", method, route, seconds=self._began_after)
        if span.is_recording():
            span.update_name(f"{method} {route}")
            annotate(self.status, failed_from=OWN_FAILURE)
            span.set_attributes({"http.request.method": method, "http.route": route})
        seconds = time.perf_counter() - self._begun
        told = log.debug if scope["path"] in QUIET_PATHS else log.info
        told(
            "request",
            method=scope["method"],
            path=redact_keys(scope["path"][:500]),
            status=self.status,
            ms=round(seconds * 1000, 1),
            **get_sender_fields(scope),
        )


def _get_method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"
