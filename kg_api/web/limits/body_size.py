"""How many bytes a request may have, and all large ones together; json_bounds.py bounds what is in them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.errors import TooBusy, TooLarge
from kg_api.web.problems import of_error, problem

log = structlog.get_logger()

SMALL_BYTES = 1024 * 1024
"""Up to this a body is no large one."""
BYTES_PER_SECOND = 64 * 1024
"""A large body that is sent more slowly makes room for another one."""
GRACE_SECONDS = 20.0
BUSY = "too many large requests are in progress; try again in a few seconds"
SLOW = "the request came so slowly that it was given up for another one; try again on a faster connection"


class _BodyRefused(Exception):
    """Passes through the app, from the reader of the body to the middleware, with the answer."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class BodyLimit:
    """Refuses a body over the limit of its path: by Content-Length at once, else when it gets there.

    Args:
        app: what comes next.
        limit_of: bytes allowed for a path.
        together: bytes of large bodies that are held at once, of all requests.
        clock: seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit_of: Callable[[str], int],
        together: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app = app
        self.limit_of = limit_of
        self._room = _Room(together, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limit_of(scope["path"])
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        body = _Body(receive, limit, self._room)
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
            await refused.response(scope, receive, send)
        except ClientDisconnect:
            log.info("client went away")
        finally:
            self._room.leave(body)


class _Room:
    """The large bodies that are held at once. Who sends too slowly goes when another one needs the room.

    Bytes pay for time, at the pace that is due; nobody has paid for longer than `GRACE_SECONDS` from now. So
    what was sent quickly once does not count for ever.
    """

    def __init__(self, together: int, clock: Callable[[], float]) -> None:
        self._together = together
        self._clock = clock
        self._paid_until: dict[_Body, float] = {}

    def hold(self, body: _Body, size: int) -> None:
        while sum(each.held for each in self._paid_until) + size > self._together:
            self._make_room()
        now = self._clock()
        latest = now + GRACE_SECONDS
        paid = max(self._paid_until.get(body, latest), now) + size / BYTES_PER_SECOND
        self._paid_until[body] = min(paid, latest)
        body.held += size

    def leave(self, body: _Body) -> None:
        """Hold it no more."""
        self._paid_until.pop(body, None)

    def _make_room(self) -> None:
        overdue = {each: paid for each, paid in self._paid_until.items() if each.is_awaited()}
        slowest = min(overdue, key=overdue.__getitem__, default=None)
        if slowest is None or overdue[slowest] >= self._clock():
            raise _BodyRefused(of_error(TooBusy(BUSY)))
        self.leave(slowest)
        slowest.give_up()


class _Body:
    """A body that is counted while it is received; what is small is not held against it."""

    def __init__(self, receive: Receive, limit: int, room: _Room) -> None:
        self._receive = receive
        self._limit = limit
        self._room = room
        self._seen = 0
        self._more = True
        self._waiting: asyncio.Timeout | None = None
        self._given_up = False
        self.held = 0

    def is_awaited(self) -> bool:
        """Whether the client is to send more of it, and nothing else keeps it."""
        return self._waiting is not None and self._more

    def give_up(self) -> None:
        """End the wait for more of it."""
        self._given_up = True
        if self._waiting is not None:
            self._waiting.reschedule(0)

    async def receive(self) -> Message:
        """Receive a part (ASGI)."""
        message = await self._next()
        size = len(message.get("body", b""))
        self._more = message.get("more_body", False)
        self._seen += size
        if self._seen > self._limit:
            raise _BodyRefused(_too_large(self._limit))
        if size and self._seen > SMALL_BYTES:
            self._room.hold(self, size)
        return message

    async def _next(self) -> Message:
        message: Message = {}
        try:
            async with asyncio.timeout(None) as self._waiting:
                message = await self._receive()
        except TimeoutError:
            pass  # it was given up
        finally:
            self._waiting = None
        if self._given_up:  # even if a part came at that very moment: its room is taken
            raise _BodyRefused(problem(408, "http", SLOW, SLOW))
        return message


def _too_large(limit: int) -> Response:
    return of_error(
        TooLarge(f"the request is larger than {limit:,} bytes, which is the most that is taken here")
    )
