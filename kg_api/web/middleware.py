"""What happens to every request: an id, and a line in the log."""

from __future__ import annotations

import re
import time
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.models.keys import without_secrets
from kg_api.web.access.door import key_of
from kg_api.web.problems import of_bug

log = structlog.get_logger()

REQUEST_ID = "X-Request-ID"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
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
        path=without_secrets(scope["path"][:500]),
        status=status,
        ms=round(seconds * 1000, 1),
        **key_of(scope),
    )
