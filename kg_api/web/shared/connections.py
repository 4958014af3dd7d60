"""HTTP connections with limits of time, size, and number, as a uvicorn protocol.

A slow or silent client costs only a descriptor. kg closes stalled connections. If too many are open, kg
closes the connection that has waited longest without a request.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from enum import IntEnum
from typing import Any

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kg_api.settings import ApiSettings

log = structlog.get_logger()

SWEEP_SECONDS = 0.5
FILES_KEPT_FREE = 192
"""File descriptors to keep for the database, logs, uploads, and documents."""
MAX_BACKLOG = 1024
MAX_OVERHEAD_BYTES = 64 * 1024
"""Maximum number of bytes of headers, trailers, and an incomplete head, as in h11."""
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Phase(IntEnum):
    """Phase of a connection. If too many are open, lower phases will be closed first."""

    LINGERING = 0
    """The response is complete, but the client still sends the body or does not read the rest."""
    HEADER = 1
    IDLE = 2
    BODY = 3
    """The client sends a body that the service waits for."""
    ANSWER = 4
    """The client reads a response more slowly than kg sends it."""
    RUNNING = 5


class Connections:
    """Connections of this process, in order of their last new request."""

    def __init__(self, settings: ApiSettings, maximum: int) -> None:
        self.settings = settings
        self._maximum = maximum
        self._open: dict[Connection, None] = {}
        self._closed: Counter[str] = Counter()
        self._sweep: asyncio.TimerHandle | None = None

    def add(self, connection: Connection) -> None:
        """Add a connection or move it to the end. Close another one if too many are open."""
        self.remove(connection)
        if len(self._open) >= self._maximum:
            first = min(self._open, key=Connection.phase)
            leaving = first if first.phase() < Phase.ANSWER else connection
            self._closed[f"too_many_{leaving.phase().name.lower()}"] += 1
            self.remove(leaving)
            leaving.give_up()
        self._open[connection] = None
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._look)

    def remove(self, connection: Connection) -> None:
        self._open.pop(connection, None)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in list(self._open):
            if connection.is_overdue(loop.time()):
                self._closed[f"too_slow_{connection.phase().name.lower()}"] += 1
                connection.give_up()
        if self._closed:  # one line for all, because an attack has thousands
            log.warning("connections closed", **self._closed)
            self._closed.clear()
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look) if self._open else None


class Connection(HttpToolsProtocol):
    def __init__(self, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._watch = connections
        self._in_head, self._is_known_head = True, False
        self._overhead = 0
        self._since, self._seen = 0.0, Phase.HEADER
        self._moved = self._unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._watch.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._moved += len(data)
        self._overhead += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            self._ignore_upgrade(data[stopped.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if self._overhead > MAX_OVERHEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request has too many bytes outside its body.")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read the body from an Upgrade request, since httptools only parses its head.

        Clients that prefer HTTP/2, such as Java's, send such requests. kg answers with HTTP/1.1 (RFC 9110).
        """
        framing = [each for each in self.headers if each[0] in {b"content-length", b"transfer-encoding"}]
        self.parser = httptools.HttpRequestParser(self)
        if framing:
            self.cycle.more_body = self._is_known_head = True
            lines = b"".join(b"%b: %b\r\n" % each for each in framing)
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + lines + b"\r\n")
            self._is_known_head = False
        if rest:
            self._overhead -= len(rest)
            self.data_received(rest)

    def on_message_begin(self) -> None:
        if not self._is_known_head:
            self._in_head = True
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_known_head:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_known_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._is_known_head:
            self._in_head = False
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        # Small chunks are normal: the overhead may be as large as the content, plus 16 bytes
        self._overhead -= 2 * len(body) + 16
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._overhead = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._since = self.loop.time()
            self._watch.add(self)

    def phase(self) -> Phase:
        cycle = self.cycle
        if self.transport.is_closing():
            return Phase.LINGERING
        if self.transport.get_write_buffer_size():
            return Phase.ANSWER
        if not cycle or (
            cycle.response_complete and not cycle.more_body
        ):  # before the first head, there is no cycle
            return Phase.HEADER if self._in_head else Phase.IDLE
        if cycle.response_complete:
            return Phase.LINGERING
        awaited = cycle.more_body and not self.flow.read_paused and not cycle.waiting_for_100_continue
        return Phase.BODY if awaited else Phase.RUNNING

    def is_overdue(self, now: float) -> bool:
        """Check if the connection takes too long in this phase, or if it is too slow."""
        phase, unsent = self.phase(), self.transport.get_write_buffer_size()
        self._moved += max(self._unsent - unsent, 0)
        self._unsent = unsent
        if phase is not self._seen:
            self._seen, self._since, self._moved = phase, now, 0
            return False
        settings, waited = self._watch.settings, now - self._since
        if phase in {Phase.LINGERING, Phase.HEADER}:
            return waited > settings.header_seconds
        if phase is Phase.IDLE:  # uvicorn's timer stops at any data, even without a request
            return waited > settings.idle_seconds
        if phase is Phase.RUNNING or waited < settings.stall_seconds:
            return False
        is_stalled = self._moved < settings.min_bytes_per_second * settings.stall_seconds
        self._since, self._moved = now, 0
        return is_stalled

    def give_up(self) -> None:
        """Close the connection, with a status if no response was sent. Abort if the client does not read."""
        phase = self.phase()
        if phase in {Phase.ANSWER, Phase.LINGERING}:
            self.transport.abort()
            return
        if phase is Phase.HEADER or (phase is Phase.BODY and not self.cycle.response_started):
            self.transport.write(TIMED_OUT)
        self.transport.close()


def choose_connection_limits(settings: ApiSettings) -> tuple[int, int]:
    """Compute how many connections can be open, and how many can wait.

    Both together leave enough file descriptors. The process accepts all waiting connections at once.
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
