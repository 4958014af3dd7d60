"""HTTP to a provider: bounds of time and of bytes are for the whole reply, and no redirect is followed.

httpx counts a time-out anew for every piece that comes: a server that sends a byte now and then would hold a
question, or a worker, for ever. And it unpacks whatever a piece holds: a megabyte of gzip becomes a gigabyte.
"""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import httpx

from kg_api.metrics import meters, require_budget
from kg_api.providers.retrying import (
    MAX_WAIT_SECONDS,
    ErrorReply,
    Provider,
    RetryableError,
    classify,
    is_retryable,
    read_error_body,
    reason_of,
    retry_after,
    wait,
)
from kg_api.tracing import SpanKind, annotate, carry_trace, span

import_module("httpx")  # OpenAI's SDK looks for it in sys.modules when it is used, and takes one half there

MIB = 1024 * 1024
MAX_BYTES = 16 * MIB
"""Of a reply, unpacked, where nobody says how long it can be."""
_PIECE = 64 * 1024
_max_bytes: ContextVar[int] = ContextVar("max_bytes", default=MAX_BYTES)
Hear = Callable[[int, Mapping[str, str]], None]
"""Takes a reply's status and headers, whose names are in lower case."""
_hear: ContextVar[Hear] = ContextVar("hear", default=lambda _, __: None)


class ReplyTooLarge(Exception):
    """A reply is longer than any answer to what was asked; an error of the HTTP library, too."""


@contextmanager
def reply_of_at_most(size: int) -> Generator[None]:
    """Bound the replies to the requests that the calling thread sends within, in bytes, unpacked."""
    token = _max_bytes.set(size)
    try:
        yield
    finally:
        _max_bytes.reset(token)


@contextmanager
def replies_told_to(hear: Hear) -> Generator[None]:
    """Tell of the replies to the requests that the calling thread sends within, as soon as each begins."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


def bounded_client(library: Any, **options: Any) -> Any:
    """A client whose read time-out, which every request sets, bounds the reply as a whole, and its size too.

    Args:
        library: httpx, or httpx2, its successor, which OpenAI's SDK takes clients of.
        options: of its Client.
    """
    body_of = _body(library)

    class Bounded(library.BaseTransport):
        def __init__(self) -> None:
            self._usual: Any = library.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            begun, most = time.monotonic(), _max_bytes.get()
            request.headers["accept-encoding"] = "gzip"
            carry_trace(request.headers)
            response = self._usual.handle_request(request)
            annotate(response.status_code)
            _hear.get()(
                response.status_code, {name.lower(): value for name, value in response.headers.items()}
            )
            seconds = request.extensions.get("timeout", {}).get("read")
            until = None if seconds is None else begun + seconds
            response.stream = body_of(response, until, most)
            for name in ("content-encoding", "content-length"):  # of what came, not of what is handed on
                response.headers.pop(name, None)
            return response

        def close(self) -> None:
            self._usual.close()

    return library.Client(transport=Bounded(), follow_redirects=False, **options)


def _body(library: Any) -> Any:
    """The class of bodies that are bounded, by a library's own classes."""

    class TooLarge(library.TransportError, ReplyTooLarge):
        pass

    class Body(library.SyncByteStream):
        """A reply's body, unpacked, broken off at a time or a size."""

        def __init__(self, response: Any, until: float | None, most: int) -> None:
            self._body = response.stream
            self._encoding = response.headers.get("content-encoding", "").strip().lower()
            self._until = until
            self._most = most

        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for part in _unpack(library, self._body, self._encoding):
                read += len(part)
                if read > self._most:
                    raise TooLarge(f"the reply is longer than {self._most:,} bytes")
                yield part
                if self._until is not None and time.monotonic() > self._until:
                    raise library.ReadTimeout("the reply took too long")

        def close(self) -> None:
            self._body.close()

    return Body


def _unpack(library: Any, body: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    if encoding in {"", "identity"}:
        yield from body
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise library.RemoteProtocolError("the reply has an encoding that was not asked for")
    try:
        yield from _inflate(body)
    except zlib.error as error:
        raise library.RemoteProtocolError(f"the reply is not {encoding}: {error}") from None


def _inflate(packed: Iterator[bytes]) -> Iterator[bytes]:
    """What gzip or deflate holds, in small pieces however well it is packed; some may be empty."""
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # both kinds of heads
    empty = True
    for part in packed:
        rest, piece, empty = part, b"", False
        while not unpacking.eof and (rest or len(piece) == _PIECE):
            piece = unpacking.decompress(rest, _PIECE)
            rest = unpacking.unconsumed_tail
            yield piece
    if not (empty or unpacking.eof):
        raise zlib.error("it ends in the middle")


# One request to a provider: whatever it fails of becomes an error of kg's.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge:
    """Sends requests to one provider. No error of its client is chained: it holds the request and key."""

    provider: Provider
    library: Any
    """That sends them: httpx or httpx2."""
    errors: tuple[type[Exception], ...] = ()
    """What an SDK raises besides, for what it cannot read too."""
    wrapper: tuple[type[Exception], ...] = ()
    """In which an SDK wraps what its library raises."""
    reply_of: Callable[[Exception], ErrorReply | None] = lambda _: None
    """The reply that an SDK's error tells of; None when it tells of none."""

    def send(self, request: Callable[[], T], sent: Sequence[str] = ()) -> T:
        """Make one request, by a function that does.

        Args:
            request: sends it and gives what came back.
            sent: the texts in it, which no message may repeat.

        Raises:
            RetryableError: it may work later.
            RateExceeded: the budget of whoever asks is used up.
            KgError: it will not, in the classes of the provider's service.
        """
        require_budget()
        try:
            with self._watched():
                return request()
        except (self.library.HTTPError, *self.errors) as error:
            failure = self._meaning(error, sent)
        raise failure

    def refusal(self, reply: ErrorReply, sent: Sequence[str]) -> Exception:
        """The error to raise for a reply that is no success."""
        self._count(reason_of(reply.status))
        return self.provider.service.own_error(classify(reply, self.provider, sent))

    def _meaning(self, error: Exception, sent: Sequence[str]) -> Exception:
        if (reply := self.reply_of(error)) is not None:
            return self.refusal(reply, sent)
        is_wrapped = isinstance(error, self.wrapper)
        cause = error.__cause__ if is_wrapped and error.__cause__ else error
        if isinstance(cause, ReplyTooLarge):
            self._count("too_large")
            return self.provider.too_large()
        if isinstance(cause, self.library.TimeoutException):
            self._count("timeout")
            return RetryableError(f"{self.provider.address} did not answer in time")
        if is_wrapped or isinstance(cause, self.library.HTTPError):
            kind = type(cause).__name__
            self._count("unreachable")
            return RetryableError(f"{self.provider.address} cannot be reached or broke off ({kind})")
        self._count("no_service")
        return self.provider.no_service()

    def _watched(self) -> ExitStack:
        """Time one request, as a span of the trace at hand."""
        to, kind = self.provider, self.provider.service.kind
        watched = ExitStack()
        watched.enter_context(meters().providers.timing(kind, to.host))
        about = {"server__address": to.host, "gen_ai__request__model": to.model}
        watched.enter_context(span(f"{kind} {to.host}", SpanKind.CLIENT, **about))
        return watched

    def _count(self, reason: str) -> None:
        meters().providers.fail(self.provider.service.kind, self.provider.host, reason)


# Providers that are asked by plain HTTP: JSON there, or a form with files, and JSON back.


class JsonClient:
    """Posts to one path of a provider, with its key where there is one."""

    def __init__(self, provider: Provider, path: str) -> None:
        self._edge = Edge(provider, httpx)
        self._url = f"{provider.address.rstrip('/')}{path}"
        headers = {"Authorization": f"Bearer {provider.secret}"} if provider.secret else {}
        self._client: httpx.Client = bounded_client(httpx, headers=headers)

    def post(self, body: dict[str, object], seconds: float) -> httpx.Response:
        """Send one request and give the reply, whatever its status; see `Edge.send` for what it raises."""
        return self._edge.send(lambda: self._client.post(self._url, json=body, timeout=seconds))

    def post_form(
        self, fields: dict[str, str], files: Sequence[tuple[str, tuple[str, bytes, str]]], seconds: float
    ) -> httpx.Response:
        """Send a form with files, each by its field, name, content and type; else as `post`."""
        return self._edge.send(
            lambda: self._client.post(self._url, data=fields, files=list(files), timeout=seconds)
        )

    def read(self, response: httpx.Response, sent: Sequence[str]) -> object:
        """Give a reply's JSON; None when it is none.

        Raises:
            RetryableError, KgError: its status is not success; see `Edge.send`.
        """
        try:
            body: object = response.json()
        except (ValueError, RecursionError):  # brackets within brackets
            body = None
        failure = (
            read_error_body(response.headers, body)
            if response.is_success
            else ErrorReply.read(response.status_code, response.headers, body)
        )
        if failure is not None:
            raise self._edge.refusal(failure, sent)
        return body

    def close(self) -> None:
        self._client.close()


# How fast a provider is asked by several threads at once: as it says itself.

LOOK_SECONDS = 0.05
"""How often a thread looks whether its turn has come, while fewer may ask than want to."""
_TOO_MANY = 429
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Pace:
    """Lets requests begin, and fewer at once after one was too many. One for all threads that ask a model.

    A thread that is refused comes back by itself (`RetryPolicy`); this keeps the others from running into
    the same refusal meanwhile, which would cost each of them a try.
    """

    def __init__(
        self,
        most: int,
        first_rest: float = 1.0,
        *,
        sleep: Callable[[float], None] = wait,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a bound.

        Args:
            most: so many at once are no bound any more.
            first_rest: seconds for which nothing begins after a refusal that names no time.
            sleep: waits for a turn.
            clock: tells the time.
        """
        self._most = most
        self._first_rest = first_rest
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = 0
        self._bound: float | None = None
        self._rests_until = float("-inf")

    @property
    def bound(self) -> float | None:
        """So many may ask at once; None: as many as want to."""
        return self._bound

    @contextmanager
    def turn(self, tokens: int = 0) -> Generator[None]:
        """Wait until a request of so many tokens may begin; what is answered within is listened to."""
        while seconds := self._begin():
            self._sleep(seconds)
        try:
            with replies_told_to(partial(self.hear, tokens)):
                yield
        finally:
            with self._lock:
                self._asking -= 1

    def hear(self, tokens: int, status: int, headers: Mapping[str, str]) -> None:
        """Learn from a reply to a request of so many tokens; names of headers in lower case."""
        with self._lock:
            if status == _TOO_MANY or (is_retryable(status) and retry_after(headers) is not None):
                # Half as many from now on; those refused at once with the first count as one refusal
                asked = retry_after(headers)
                if self._clock() >= self._rests_until:
                    self._bound = max(1.0, self._asking / 2)
                self._rest(self._first_rest if asked is None else asked)
            else:
                self._rest(_room_in(headers, self._asking, tokens * self._asking))
                if self._bound is not None:
                    self._bound += 1 / self._bound
                    self._bound = None if self._bound >= self._most else self._bound

    def _begin(self) -> float:
        """Begin a request; or how many seconds to wait before the next attempt to."""
        with self._lock:
            if (left := self._rests_until - self._clock()) > 0:
                return left
            if self._bound is not None and self._asking >= int(self._bound):
                return LOOK_SECONDS
            self._asking += 1
            return 0.0

    def _rest(self, seconds: float) -> None:
        if seconds <= MAX_WAIT_SECONDS:  # else it is given up, and the job waits
            self._rests_until = max(self._rests_until, self._clock() + seconds)


def _room_in(headers: Mapping[str, str], requests: int, tokens: int) -> float:
    """Seconds until a provider that tells its limits, as OpenAI does, has room for so much more.

    Its `reset` is the time in which all of a limit is there again, so a part of it comes in a part of that.
    """
    return max(_room(headers, "requests", requests), _room(headers, "tokens", tokens))


def _room(headers: Mapping[str, str], what: str, needed: int) -> float:
    limit, remaining = (_number(headers.get(f"x-ratelimit-{each}-{what}")) for each in ("limit", "remaining"))
    if limit is None or remaining is None or remaining >= needed or remaining >= limit:
        return 0.0
    share = min(needed - remaining, limit - remaining) / (limit - remaining)
    return share * _seconds(headers.get(f"x-ratelimit-reset-{what}", ""))


def _number(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"\d{1,12}", value) else None


def _seconds(value: str) -> float:
    """A time as OpenAI writes it, such as `6m0s` or `20ms`; 0 for what is none."""
    parts: list[tuple[str, str]] = _PART.findall(value)
    whole = "".join(number + unit for number, unit in parts)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if whole == value else 0.0
