"""What happens to every request: an id, a line in the log, and a count."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.graph.client import OF_NULLS, READ_AGAIN_TIMES, log_retry
from kg_api.metrics import METHODS, NO_ROUTE, meters, was_model_asked
from kg_api.schemas.operations import without_secrets
from kg_api.tracing import TRACEPARENT, Span, SpanKind, annotate, root_span
from kg_api.web.shared.problems import of_bug, of_ending
from kg_api.web.shared.scopes import SEARCHES
from kg_api.web.shared.security import key_of

log = structlog.get_logger()

REQUEST_ID = "X-Request-ID"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
OWN_FAILURE = 500
"""The first HTTP status that is no fault of the client."""
QUIET_PATHS = frozenset({"/health", "/ready"})


class RequestLog:
    """Gives each request an id (the client's own, if it is a plain one) and logs it when it is done.

    What nobody foresaw is logged and answered here too: so it carries the id, and the connection lives on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _GOOD_ID.fullmatch(given) else uuid.uuid4().hex
        answer = _Answer(send, request_id)
        meters().http.begin()
        traced = root_span(
            _method(scope), SpanKind.SERVER, headers.get(TRACEPARENT), kg__request_id=request_id
        )
        with structlog.contextvars.bound_contextvars(request_id=request_id), traced as span:
            try:
                await self.app(scope, receive, answer.send)
            except asyncio.CancelledError:  # uvicorn does that at the end of its time of grace, and says 500
                if answer.status:
                    raise
                await of_ending()(scope, receive, answer.send)
            except Exception:  # the border of a request: a bug is logged and answered
                log.exception("unexpected error")
                if answer.status:
                    raise
                await of_bug()(scope, receive, answer.send)
            finally:
                answer.record(scope, span)


class _Answer:
    """What is known of an answer while it is sent."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self._begun = time.perf_counter()
        self._began_after: float | None = None
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a part of it, the id with the first one (ASGI)."""
        if message["type"] == "http.response.start":
            self.status, self._began_after = message["status"], time.perf_counter() - self._begun
            MutableHeaders(scope=message)[REQUEST_ID] = self._request_id
        await self._send(message)

    def record(self, scope: Scope, span: Span) -> None:
        """Log, count and trace it."""
        method, route = _method(scope), _route_of(scope)
        meters().http.end(method, route, self.status, self._began_after)
        if span.is_recording():
            span.update_name(f"{method} {route}")
            annotate(self.status, failed_from=OWN_FAILURE)
            span.set_attributes({"http.request.method": method, "http.route": route})
        seconds = time.perf_counter() - self._begun
        told = log.debug if scope["path"] in QUIET_PATHS else log.info
        told(
            "request",
            method=scope["method"],
            path=without_secrets(scope["path"][:500]),
            status=self.status,
            ms=round(seconds * 1000, 1),
            **key_of(scope),
        )


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def _route_of(scope: Scope) -> str:
    """The template of a path; a path itself may hold names of ontologies, and there is no end of them."""
    return getattr(scope.get("route"), "path_format", NO_ROUTE)


# A question is asked once more where what it read was deleted in the middle (`kg_api.graph.client`).
#
# Not where a language model was asked for it: that costs.

MAX_KEPT_BYTES: Final = 1_000_000
"""Of a body, so that it can be read again; searches are far smaller."""


class OnceMore:
    """Repeats questions, which change nothing, as long as nothing was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "POST"}:
            await self.app(scope, receive, send)
            return
        asked, at_first = _Question(receive, send), dict(scope)
        for attempt in range(1, READ_AGAIN_TIMES + 1):
            try:
                await self.app(scope, asked.receive, asked.send)
            except OF_NULLS as error:
                if not (asked.repeatable and _changes_nothing(scope)) or was_model_asked():
                    raise
                log_retry(attempt, error)
                scope.clear()
                scope.update(at_first)
                asked.again()
            else:
                return
        await self.app(scope, asked.receive, asked.send)


class _Question:
    """What came of a request so far, to be given once more."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._kept: list[Message] = []
        self._given = 0
        self._size = 0
        self._answered = False

    @property
    def repeatable(self) -> bool:
        """Whether all that came is kept, and nothing was answered."""
        return not self._answered and self._size <= MAX_KEPT_BYTES

    def again(self) -> None:
        self._given = 0

    async def receive(self) -> Message:
        """Give the next part (ASGI)."""
        if self._given < len(self._kept):
            self._given += 1
            return self._kept[self._given - 1]
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size <= MAX_KEPT_BYTES:
            self._kept.append(message)
            self._given += 1
        else:
            self._kept.clear()
        return message

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer (ASGI)."""
        self._answered = True
        await self._send(message)


def _changes_nothing(scope: Scope) -> bool:
    route = f"{scope['method']} {getattr(scope.get('route'), 'path_format', '')}"
    return scope["method"] == "GET" or route in SEARCHES
