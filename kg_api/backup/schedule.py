"""When the supervisor of `kg up` makes backups: by what is known of the last one, whoever made it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import structlog

from kg_api.backup import record
from kg_api.backup.record import BackupRecord
from kg_api.managed.home import Home
from kg_api.managed.processes import ProcessId

log = structlog.get_logger()

HOUR: Final = 3600.0
RETRY_SECONDS: Final = 600.0
"""After one that failed, unless the next is due sooner."""


class BackupSchedule:
    """Starts a process for each backup that is due, and says in the log what became of it.

    Args:
        home: whose backups.
        every_seconds: how long after the beginning of one the next is due.
        start: starts the process.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        home: Home,
        every_seconds: float,
        start: Callable[[], ProcessId],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._every = every_seconds
        self._start = start
        self._clock = clock
        self._process: ProcessId | None = None
        self._not_before = 0.0

    def attend(self, working: set[str]) -> None:
        """Look after it once.

        Args:
            working: names of the roles that work; Neo4j is not started for this.
        """
        if self._process is not None:
            if self._process.alive():
                return
            self._process = None
            self._report()
        known = record.read(self._home)
        now = self._clock()
        if "neo4j" not in working or now < max(self._not_before, due_at(known, self._every)):
            return
        if known is not None and known.running():
            return
        self._not_before = now + min(self._every, RETRY_SECONDS)
        self._process = self._start()
        log.info("backup starts", pid=self._process.pid)

    def _report(self) -> None:
        known = record.read(self._home)
        trouble = known.trouble() if known else "it left no record"
        if trouble or known is None:
            log.error("backup failed", reason=trouble, log=str(self._home.log_file("backup")))
        else:
            log.info("backup made", path=known.path, bytes=known.bytes, paused_seconds=known.paused_seconds)


def due_at(known: BackupRecord | None, every_seconds: float) -> float:
    """Give when the next backup is due, seconds since 1970."""
    if known is None:
        return 0.0
    after_last = 0.0 if known.made is None else known.made + every_seconds
    if known.trouble() is None:
        return after_last
    return max(after_last, known.begun + min(every_seconds, RETRY_SECONDS))


def is_overdue(known: BackupRecord | None, every_seconds: float, now: float) -> bool:
    """Whether a whole backup is missing for longer than two are apart."""
    return known is None or known.made is None or now - known.made > 2 * every_seconds
