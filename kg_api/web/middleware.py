"""What happens to every request: an id, a line in the log, and a limit on its size."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.errors import KgError, TooBusy, TooLarge
from kg_api.web.problems import of_bug, of_error

log = structlog.get_logger()

REQUEST_ID = "X-Request-ID"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
SMALL_BYTES = 1024 * 1024
"""Up to this a body is no large one."""
QUIET_PATHS = frozenset({"/health", "/ready"})


class RequestLog:
    """Gives each request an id (the client's own, if it is a plain one) and logs it when it is done.

    What nobody foresaw is logged and answered here too: so it carries the id, and the connection lives on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _GOOD_ID.fullmatch(given) else uuid.uuid4().hex
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        begun = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, sending)
            except Exception:  # the border of a request: a bug is logged and answered
                log.exception("unexpected error")
                if status:
                    raise
                await of_bug()(scope, receive, sending)
            finally:
                _log(scope, status, time.perf_counter() - begun)


def _log(scope: Scope, status: int, seconds: float) -> None:
    told = log.debug if scope["path"] in QUIET_PATHS else log.info
    told(
        "request",
        method=scope["method"],
        path=scope["path"][:500],
        status=status,
        ms=round(seconds * 1000, 1),
    )


class _BodyRefused(Exception):
    """Passes through the app, from the reader of the body to the middleware."""

    def __init__(self, error: KgError) -> None:
        super().__init__()
        self.error = error


class BodyLimit:
    """Refuses a body over the limit of its path: by Content-Length at once, else when it gets there.

    Args:
        app: what comes next.
        limit_of: bytes allowed for a path.
        together: bytes of large bodies that are held at once, of all requests.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int], together: int) -> None:
        self.app = app
        self.limit_of = limit_of
        self._together = together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limit_of(scope["path"])
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > limit:
            await of_error(_too_large(limit))(scope, receive, send)
            return
        body = _Body(receive, limit, self._hold)
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, body.receive, sending)
        except _BodyRefused as refused:
            if started:
                raise
            await of_error(refused.error)(scope, receive, send)
        except ClientDisconnect:
            log.info("client went away")
        finally:
            self._held -= body.held

    def _hold(self, size: int) -> None:
        if self._held + size > self._together:
            raise _BodyRefused(TooBusy("so many large bodies are coming in that this one is not taken now"))
        self._held += size


class _Body:
    """A body that is counted while it is received; what is small is not held against it."""

    def __init__(self, receive: Receive, limit: int, hold: Callable[[int], None]) -> None:
        self._receive = receive
        self._limit = limit
        self._hold = hold
        self._seen = 0
        self.held = 0

    async def receive(self) -> Message:
        """Receive a part (ASGI)."""
        message = await self._receive()
        size = len(message.get("body", b""))
        self._seen += size
        if self._seen > self._limit:
            raise _BodyRefused(_too_large(self._limit))
        if size and self._seen > SMALL_BYTES:
            self._hold(size)
            self.held += size
        return message


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the request is larger than {limit:,} bytes, which is the most that is taken here")
