"""How many connections there may be and how long each may keep the service waiting.

A slow or silent client costs a descriptor, never an answer to somebody else: what does not move is closed,
and when there are too many the one that has waited longest without a request in progress goes first.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import structlog

from kg_api.settings import ApiSettings

log = structlog.get_logger()

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
