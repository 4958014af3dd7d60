"""Writes down what is changed, while requests go on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from kg_api.errors import KgError
from kg_api.graph.client import Graph
from kg_api.graph.keys import AuditRecord, write_audit

log = structlog.get_logger()

MAX_WAITING = 10_000
"""Entries that wait for the database; what comes beyond them is in the log of requests alone."""
MAX_AT_ONCE = 500
RETRY_SECONDS = 2.0
CLOSING_SECONDS = 5.0  # when the service ends, what waits has so long to be written
NOT_WRITTEN: Final = "changes are not written to the audit log"


class AuditWriter:
    """Writes entries in a thread of its own: no request waits for it."""

    def __init__(self, graph: Callable[[], Graph]) -> None:
        self._graph = graph
        self._waiting: queue.Queue[AuditRecord | None] = queue.Queue(MAX_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write, name="audit", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, record: AuditRecord) -> None:
        """Have an entry written soon. If too many wait, the log says that it is not written."""
        with suppress(queue.Full):
            self._waiting.put_nowait(record)
            return
        log.error(NOT_WRITTEN, changes=1, request_id=record.request_id)

    def close(self) -> None:
        """Write what waits, if that can be done at once."""
        self._closing.set()
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(CLOSING_SECONDS)
        if left := self._waiting.qsize():
            log.error(NOT_WRITTEN, changes=left)

    def _write(self) -> None:
        while (records := self._take()) is not None:
            while not self._try_to_write(records):
                if self._closing.wait(RETRY_SECONDS):
                    log.error(NOT_WRITTEN, changes=len(records))
                    break

    def _take(self) -> list[AuditRecord] | None:
        """Return the next, and those behind it that wait already; None at the end."""
        first = self._waiting.get()
        if first is None:
            return None
        taken = [first]
        while len(taken) < MAX_AT_ONCE and not self._waiting.empty():
            if (following := self._waiting.get()) is None:
                self._waiting.put(None)
                break
            taken.append(following)
        return taken

    def _try_to_write(self, records: list[AuditRecord]) -> bool:
        try:
            write_audit(self._graph(), records)
        except KgError as error:
            log.warning("the audit log waits", changes=len(records), reason=str(error))
            return False
        except Exception:  # the border of a thread: what cannot be written must not end it
            log.exception(NOT_WRITTEN, changes=len(records))
        return True
