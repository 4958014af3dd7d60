"""The sign of life of a worker that has a job."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Self

import structlog

from kg_api.errors import LeaseLost
from kg_api.graph import jobs
from kg_api.graph.database import Graph

log = structlog.get_logger()

STUCK_EXIT_CODE = 70


class Heartbeat:
    """Renews a lease in a thread of its own, and notices when it is lost.

    A job that gets nothing done for too long is dead then. A handler that does not come back within a lease
    after that cannot be helped: the whole process ends, and whoever watches over it starts another.
    """

    def __init__(
        self,
        graph: Graph,
        owner: jobs.Owner,
        every_seconds: float,
        *,
        stuck_seconds: float = 86_400.0,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._graph = graph
        self._owner = owner
        self._every = every_seconds
        self._stuck = stuck_seconds
        self._leave = leave
        self._ended = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._every) and not self.lost.is_set():
            try:
                if not jobs.heartbeat(self._graph, self._owner, stuck_seconds=self._stuck):
                    self._give_up()
            except LeaseLost:
                self.lost.set()
            except Exception as error:  # noqa: BLE001 - the border of a thread: one bad beat must not be the last
                log.warning(
                    "no heartbeat", job_id=self._owner.job_id, reason=f"{type(error).__name__}: {error}"
                )

    def _give_up(self) -> None:
        self.lost.set()
        log.error("job is stuck", job_id=self._owner.job_id, seconds=self._stuck)
        if not self._ended.wait(self._owner.lease_seconds):
            log.critical("worker ends: its job does not come back", job_id=self._owner.job_id)
            self._leave(STUCK_EXIT_CODE)
