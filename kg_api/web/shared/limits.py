"""How many bytes a request may have, and all large ones together; json_bounds.py bounds what is in them."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

import h11
import structlog
from anyio.to_thread import run_sync
from fastapi import HTTPException, Request
from fastapi import Response as FastapiResponse
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from kg_api.errors import ConfigurationError, TooBusy, TooLarge
from kg_api.settings import ApiSettings
from kg_api.web.shared.forwarded import FORWARDED_HOST
from kg_api.web.shared.problems import of_error, problem
from kg_api.web.shared.scopes import is_page
from kg_api.web.shared.security import check_scope
from kg_api.wording import HOME_HEADER, is_loopback

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


# How many connections there may be and how long each may keep the service waiting.
#
# A slow or silent client costs a descriptor, never an answer to somebody else: what does not move is closed,
# and when there are too many the one that has waited longest without a request in progress goes first.

SWEEP_SECONDS = 0.5
FILES_KEPT_FREE = 192
"""Descriptors for the database, logs, uploads and documents."""
MAX_BACKLOG = 1024


class Phase(Enum):
    """What a connection does at this moment."""

    HEADER = "header"
    """It has not sent a whole request yet."""
    IDLE = "idle"
    """It has been answered and has sent nothing since."""
    BODY = "body"
    """It is sending a body that the service waits for."""
    RUNNING = "running"
    """The service works for it."""
    ANSWER = "answer"
    """It is being sent an answer that it does not read as fast."""
    LINGERING = "lingering"
    """It has been answered, and still sends the body; or is closed, and does not read the rest."""


FIRST_TO_GO = (Phase.LINGERING, Phase.HEADER, Phase.IDLE, Phase.BODY)


class Watched(Protocol):
    """A connection as it is seen here."""

    answered: int
    """Requests that it has been answered."""

    def phase(self) -> Phase: ...

    def moved_bytes(self) -> int:
        """Bytes that have come or gone since this was asked last."""
        ...

    def give_up(self) -> None:
        """Close it; say so where the protocol allows."""
        ...


@dataclass
class _Stretch:
    """The time for which a connection has been in one phase."""

    phase: Phase
    answered: int
    begun: float
    moved: int = 0


class ConnectionLimits:
    """Watches all connections of this process.

    Args:
        settings: the limits.
        maximum: how many connections there may be at once.
    """

    def __init__(self, settings: ApiSettings, maximum: int) -> None:
        self._maximum = maximum
        self._bytes_needed = settings.min_bytes_per_second * settings.stall_seconds
        self._header_seconds = settings.header_seconds
        self._stall_seconds = settings.stall_seconds
        self._watched: dict[Watched, _Stretch] = {}  # the longest without a new request first
        self._closed: Counter[str] = Counter()
        self._sweep: asyncio.TimerHandle | None = None

    def add(self, connection: Watched) -> None:
        """Watch one more, closing another one when there are too many."""
        if len(self._watched) >= self._maximum:
            self._make_room(connection)
        self.renew(connection)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._look)

    def renew(self, connection: Watched) -> None:
        """Take note that it begins anew, for it has been answered."""
        self._watched.pop(connection, None)
        now = asyncio.get_running_loop().time()
        self._watched[connection] = _Stretch(connection.phase(), connection.answered, now)

    def remove(self, connection: Watched) -> None:
        self._watched.pop(connection, None)

    def _make_room(self, newcomer: Watched) -> None:
        by_phase: dict[Phase, Watched] = {}
        for each in self._watched:
            phase = each.phase()
            by_phase.setdefault(phase, each)
            if phase is FIRST_TO_GO[0]:
                break
        leaving = next((by_phase[phase] for phase in FIRST_TO_GO if phase in by_phase), newcomer)
        self._closed[f"too_many_{leaving.phase().value}"] += 1
        self.remove(leaving)
        leaving.give_up()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection, stretch in list(self._watched.items()):
            if self._is_overdue(connection, stretch, now):
                self._closed[f"too_slow_{stretch.phase.value}"] += 1
                connection.give_up()
        if self._closed:  # one line for all: under attack there are thousands
            log.warning("connections closed", **self._closed)
            self._closed.clear()
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look) if self._watched else None

    def _is_overdue(self, connection: Watched, stretch: _Stretch, now: float) -> bool:
        phase, moved = connection.phase(), connection.moved_bytes()
        if (phase, connection.answered) != (stretch.phase, stretch.answered):
            stretch.phase, stretch.answered, stretch.begun, stretch.moved = phase, connection.answered, now, 0
            return False
        stretch.moved += moved
        if phase in {Phase.HEADER, Phase.LINGERING}:
            return now - stretch.begun > self._header_seconds
        if phase not in {Phase.BODY, Phase.ANSWER} or now - stretch.begun < self._stall_seconds:
            return False
        overdue = stretch.moved < self._bytes_needed
        stretch.begun, stretch.moved = now, 0
        return overdue


def connections_and_backlog(settings: ApiSettings) -> tuple[int, int]:
    """How many connections this process may have and how many may wait, so that descriptors never run out.

    As many as wait are accepted at once, before the first of them is looked at.
    """
    own = settings.share(settings.max_connections)
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return own, MAX_BACKLOG
    backlog = min(MAX_BACKLOG, allowed // 4)
    room = max(allowed - backlog - FILES_KEPT_FREE, 1)
    if room < own:
        log.warning(
            "fewer connections than KG_API__MAX_CONNECTIONS: raise the limit of open files (ulimit -n)",
            connections=room * settings.process_count,
            open_files=allowed,
        )
    return min(own, room), backlog


# One HTTP connection: uvicorn's own, whose times are limited.

TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
HIGH_WATER = 64 * 1024


class Connection(H11Protocol):
    """A connection that says what it does and how fast.

    Args:
        limits: who watches it.
        given: what uvicorn gives its protocol.
    """

    def __init__(self, limits: ConnectionLimits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._moved = 0
        self._unsent = 0
        self._has_sent = False
        self.answered = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limits.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes (asyncio)."""
        self._moved += len(data)
        self._has_sent = True
        super().data_received(data)

    def resume_writing(self) -> None:
        """Go on to send (asyncio): all but a little of what waited has gone."""
        self._moved += HIGH_WATER
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Be ready for the next request."""
        self.answered += 1
        self._has_sent = bool(self.conn.trailing_data[0])
        super().on_response_complete()
        if not self.transport.is_closing():
            self._limits.renew(self)

    def phase(self) -> Phase:
        theirs = self.conn.their_state
        if self.transport.is_closing():
            return Phase.LINGERING
        if self.transport.get_write_buffer_size():
            return Phase.ANSWER
        if theirs is h11.IDLE:
            return Phase.HEADER if self._has_sent or not self.answered else Phase.IDLE
        if theirs is not h11.SEND_BODY:
            return Phase.RUNNING
        if self.cycle.response_complete:
            return Phase.LINGERING
        waits = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return Phase.RUNNING if waits else Phase.BODY

    def moved_bytes(self) -> int:
        """Bytes that have come or gone since this was asked last."""
        unsent = self.transport.get_write_buffer_size()
        moved, self._moved = self._moved + max(self._unsent - unsent, 0), 0
        self._unsent = unsent
        return moved

    def give_up(self) -> None:
        """Close it: with a status while nothing was answered yet, at once when it does not read."""
        if self.transport.is_closing() or self.phase() in {Phase.ANSWER, Phase.LINGERING}:
            self.transport.abort()
            return
        phase = self.phase()
        if phase is Phase.HEADER or (phase is Phase.BODY and not self.cycle.response_started):
            self.transport.write(TIMED_OUT)
        self.transport.close()


# Bounds of a JSON text, checked on its bytes before any object is made of it.
#
# `[[],[],...]` of 60 MB would become twenty million lists: a minute and two gigabytes. What counts is counted
# in windows, so that other threads, and the event loop with them, have their turn between two of them.

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Values in one body; the longest conversation has 40,000."""
WINDOW = 64 * 1024
_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_OPENING = frozenset(b"[{")


class OutOfBounds(ValueError):
    """The text is nested too deeply, or has too many values."""

    status = 400


class TooManyValues(OutOfBounds):
    """More than any request needs: as with too many bytes, nothing is wrong but the size."""

    status = 413


def check_bounds(content: bytes) -> None:
    """Check depth and number of values; whether it is JSON at all is left to the parser.

    Raises:
        OutOfBounds: saying which bound.
    """
    if len(content) <= MAX_VALUES and content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return  # every usual request
    counting, at, end = _Counting(), 0, len(content)
    while at < end:
        quote = content.find(b'"', at, at + WINDOW)
        until = min(at + WINDOW, end) if quote < 0 else quote
        counting.add(content[at:until])
        at = until if quote < 0 else _behind_string(content, quote + 1)


def _behind_string(content: bytes, at: int) -> int:
    """The place behind the string whose first character stands at `at`."""
    while at < len(content):
        match = _IN_STRING.match(content, at, at + WINDOW)
        found = at if match is None else match.end()
        if content[found : found + 1] == b'"':
            return found + 1
        at = max(found, at + 1)
    return at


class _Counting:
    """Counts what stands outside of strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._values = 1

    def add(self, part: bytes) -> None:
        self._values += part.count(b",") + part.count(b"[") + part.count(b"{")
        if self._values > MAX_VALUES:
            raise TooManyValues(f"has more than {MAX_VALUES:,} values; send it in parts")
        for bracket in _BRACKETS.findall(part):
            self._depth += 1 if bracket[0] in _OPENING else -1
            if self._depth > MAX_DEPTH:
                raise OutOfBounds(f"is nested too deeply: more than {MAX_DEPTH} levels")


# Keeps other web pages out: a page that a browser shows may send requests to this machine.
#
# Where no keys are required, whoever may send a request may read and write. The service answers under names
# that it knows (against DNS rebinding), and to pages of its own and those that the settings allow.

LINKED = frozenset({"/", "/docs"})
"""What a link of another page may lead to, beside the pages below /ui."""
OURS = frozenset({"same-origin", "none"})
"""`none`: an address that somebody typed, or a bookmark."""
MAX_SHOWN_NAME = 100
_PORTS = {"http": 80, "https": 443}


def allowed_hosts(settings: ApiSettings) -> frozenset[str]:
    """The names under which the service answers, beside those of loopback.

    Raises:
        ConfigurationError: it listens beyond this machine, and no name is given.
    """
    named = settings.allowed_host_names
    if is_loopback(settings.host):
        return frozenset(named)
    if not named:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} listens beyond this machine: set KG_API__ALLOWED_HOSTS to the "
            "names and addresses that clients use for it, such as kg.example.org,192.0.2.7"
        )
    return frozenset({*named, settings.host} - {"0.0.0.0", "::"})  # noqa: S104 - a name that nobody calls


class OriginCheck:
    """Refuses requests of foreign pages and under foreign names.

    Args:
        app: what comes next.
        hosts: names under which the service answers; those of loopback always do.
        origins: of other pages that may ask it.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self.app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope, Headers(scope=scope))
            if refusal is not None:
                await problem(*refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str, str] | None:
        host = headers.get("host", "")
        name = _authority(f"http://{host}")[0]
        if not self._is_known(name):
            told = (
                f"this service does not answer to the name {name[:MAX_SHOWN_NAME]!r} of the Host header: "
                "where it is one of its names, add it to KG_API__ALLOWED_HOSTS and start the service anew"
            )
            return 421, "http", "Misdirected", told
        origin = headers.get("origin")
        if origin in self._origins:
            return None
        foreign = origin is not None and not any(_is_same(origin, each) for each in self._own(scope, host))
        if foreign or (headers.get("sec-fetch-site", "none") not in OURS and not _is_visit(scope, headers)):
            told = "requests of other web pages are refused; KG_API__ALLOWED_ORIGINS can allow some"
            return 403, "http", "Forbidden", told
        return None

    def _is_known(self, name: str) -> bool:
        return is_loopback(name) or name in self._hosts

    def _own(self, scope: Scope, host: str) -> list[str]:
        """The hosts whose pages are ours: the one asked for, and the one that a proxy was asked for."""
        forwarded: str = scope.get(FORWARDED_HOST, "").partition(",")[0].strip()
        return [host, *([forwarded] if self._is_known(_authority(f"http://{forwarded}")[0]) else [])]


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to one of the pages."""
    return (
        scope["method"] == "GET"
        and (scope["path"] in LINKED or is_page(scope["path"]))
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _is_same(origin: str, host: str) -> bool:
    scheme = origin.partition("://")[0]
    return scheme in _PORTS and _authority(origin) == _authority(f"{scheme}://{host}")


def _authority(address: str) -> tuple[str, int | None]:
    """Name and port; no name where the address is none."""
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None


# JSON as the standard has it: Python's own parser takes NaN, and lets the second of two equal keys win.

LARGE_BYTES = 64 * 1024
"""A longer body is read in a thread, for a short one that would cost more than reading it."""
LARGE_AT_ONCE = 2
MAX_KEYS = 1000
"""Keys in one object."""

ModelT = TypeVar("ModelT", bound=BaseModel)
ReadT = TypeVar("ReadT")
Handler = Callable[[Request], Coroutine[Any, Any, FastapiResponse]]


def parse(content: bytes) -> Any:
    """Parse JSON.

    Raises:
        HTTPException: saying what is wrong: 400 for no UTF-8, no JSON, a key twice, NaN or nesting without
            end, 413 for more values than any request needs.
    """
    try:
        check_bounds(content)
        return json.loads(
            content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except OutOfBounds as error:
        raise _out_of_bounds(error) from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise OutOfBounds(f"has an object with more than {MAX_KEYS:,} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a duplicate key")
    return result


def valid(model: type[ModelT], given: Any) -> ModelT:
    """Check a body that was read by hand, so that it is answered like any other.

    Raises:
        RequestValidationError: naming each field that is wrong.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def read_model(request: Request, model: type[ModelT]) -> ModelT:
    """Read the body of a request as a model.

    Raises:
        HTTPException: 400, when it is not proper JSON.
        RequestValidationError: naming each field that is wrong.
    """
    return await _read(request, lambda body: valid(model, parse(body)))


async def read_bounded(request: Request) -> bytes:
    """Read the body of a request that somebody else parses: only its bounds are checked.

    Raises:
        HTTPException: 400 or 413, when it is out of bounds.
    """
    return await _read(request, _check_bounds)


def _check_bounds(content: bytes) -> bytes:
    try:
        check_bounds(content)
    except OutOfBounds as error:
        raise _out_of_bounds(error) from None
    return content


def _out_of_bounds(error: OutOfBounds) -> HTTPException:
    return HTTPException(error.status, f"the body {error}")


async def _read(request: Request, reading: Callable[[bytes], ReadT]) -> ReadT:
    """Read a large body in a thread, few of them at once; those that wait hold no thread."""
    body = await request.body()
    if len(body) <= LARGE_BYTES:
        return reading(body)
    return await run_sync(reading, body, limiter=request.app.state.large_bodies)


def media_type(request: Request) -> str:
    """What a body says it is, without parameters; empty: nothing."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_type(request: Request, kind: str) -> None:
    """Refuse a body that says it is something else.

    Raises:
        HTTPException: 415.
    """
    if media_type(request) != kind:
        raise HTTPException(415, f"send the body as {kind}")


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON.

    Raises:
        HTTPException: 415.
    """
    require_type(request, "application/json")


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The body.

        Raises:
            HTTPException: 400, when it is not proper JSON.
        """
        return await _read(self, parse)


class StrictRoute(APIRoute):
    """A route that takes its body as strict JSON."""

    def get_route_handler(self) -> Handler:
        """Check the content type, then hand on a strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> FastapiResponse:
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                await check_scope(strict)  # whose key is not good for it need not send what it asks
                require_json(request)
                await strict.body()  # here, for FastAPI makes a 400 of whatever happens while it reads
            return await handle(strict)

        return strictly


# Rejects requests that are meant for the service of another home, which had this port before.

OTHER_HOME: Final = (
    "this kg serves another home than the command expects: start the kg of that home with `kg up`, or set "
    "KG_API_URL to use this one"
)


class HomeCheck:
    """Answers a request that names a home with the id of this service's home; a wrong one gets a 421.

    Args:
        app: the next application.
        instance: returns the id of this service's home; None if the home cannot be written.
    """

    def __init__(self, app: ASGIApp, instance: Callable[[], str | None]) -> None:
        self.app = app
        self._instance = instance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        expected = Headers(scope=scope).get(HOME_HEADER) if scope["type"] == "http" else None
        if expected is None:
            await self.app(scope, receive, send)
            return
        own = self._instance()

        async def send_with_home(message: Message) -> None:
            if message["type"] == "http.response.start" and own is not None:
                MutableHeaders(scope=message)[HOME_HEADER] = own
            await send(message)

        app = self.app if expected == own else problem(421, "http", "Misdirected", OTHER_HOME)
        await app(scope, receive, send_with_home)
