"""Writing the audit log in the background."""

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

MAX_WAITING = 10_000  # limit of queued entries: further entries appear only in the request log
MAX_AT_ONCE = 500
RETRY_SECONDS = 2.0
CLOSING_SECONDS = 5.0  # time limit for writing queued entries at shutdown
NOT_WRITTEN: Final = "changes are not written to the audit log"


class AuditWriter:
    """Writer with its own thread, so that no request waits for the audit log."""

    def __init__(self, graph: Callable[[], Graph]) -> None:
        self._graph = graph
        self._waiting: queue.Queue[AuditRecord | None] = queue.Queue(MAX_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write, name="audit", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, record: AuditRecord) -> None:
        """Queue an entry. If the queue is full, log an error instead."""
        with suppress(queue.Full):
            self._waiting.put_nowait(record)
            return
        log.error(NOT_WRITTEN, changes=1, request_id=record.request_id)

    def close(self) -> None:
        """Write the queued entries if the database responds in time."""
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
        """Wait for queued entries and return them, or return None at the end."""
        record = self._waiting.get()
        if record is None:
            return None
        records = [record]
        while len(records) < MAX_AT_ONCE and not self._waiting.empty():
            if (next_record := self._waiting.get()) is None:
                self._waiting.put(None)
                break
            records.append(next_record)
        return records

    def _try_to_write(self, records: list[AuditRecord]) -> bool:
        try:
            write_audit(self._graph(), records)
        except KgError as error:
            log.warning("the audit log is not written, kg retries", changes=len(records), reason=str(error))
            return False
        except Exception:  # thread boundary: an entry that cannot be written must not end the thread
            log.exception(NOT_WRITTEN, changes=len(records))
        return True
