"""How long a job may work while others wait."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kg_api.graph import jobs
from kg_api.graph.database import Graph

ASK_SECONDS = 2.0
"""The database is asked at most this often whether others wait."""


class Turn:
    """One turn of a job: it is over when its time is and another job waits for a worker."""

    def __init__(self, graph: Graph, job: jobs.ClaimedJob, kinds: Sequence[str], seconds: float) -> None:
        self._graph = graph
        self._job = job
        self._kinds = kinds
        self._next_look = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Whether the job shall let others go first."""
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + ASK_SECONDS
        return jobs.others_wait(self._graph, self._job, self._kinds)
