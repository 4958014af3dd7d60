"""How long a job may work while others wait."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kg_api.graph import jobs
from kg_api.graph.database import Graph
from kg_api.graph.jobs.records import FIRST

ASK_SECONDS = 2.0
"""The database is asked at most this often whether others of the job's rank wait."""


class TimeSlice:
    """One turn of a job.

    Over when its time is and another job of its rank waits for a worker, or as soon as there is work of a
    smaller rank: that is asked at every batch.
    """

    def __init__(self, graph: Graph, kinds: Sequence[str], seconds: float) -> None:
        self._graph = graph
        self._kinds = kinds
        self._next_look = time.monotonic() + seconds

    def is_over(self, job: jobs.ClaimedJob) -> bool:
        """Whether the job shall let others go first."""
        now = time.monotonic()
        over = now >= self._next_look
        if over:
            self._next_look = now + ASK_SECONDS
        elif job.rank == FIRST:
            return False
        return jobs.others_wait(self._graph, job, self._kinds, over=over)
