"""One HTTP connection: uvicorn's own, whose times are limited."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kg_api.web.limits.connections import ConnectionLimits, Phase

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
