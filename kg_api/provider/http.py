"""HTTP to a provider: bounds of time and of bytes are for the whole reply, and no redirect is followed.

httpx counts a time-out anew for every piece that comes: a server that sends a byte now and then would hold a
question, or a worker, for ever. And it unpacks whatever a piece holds: a megabyte of gzip becomes a gigabyte.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from kg_api.tracing.spans import annotate, carry_trace

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
