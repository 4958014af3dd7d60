"""The queue as probes and metrics see it: looked at once a second at most, however often they ask."""

from __future__ import annotations

from kg_api.errors import KgError
from kg_api.graph.jobs.queue import is_touched, queue_status
from kg_api.graph.search.shared_reading import SharedReading
from kg_api.models.health import Check
from kg_api.models.queue import QueueStatus
from kg_api.web.opening import Opening
from kg_api.wording.plural import pluralize


class QueueWatch:
    """Remembers the queue's status for a second."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._looking = SharedReading(lambda: queue_status(opening.container().graph))

    def status(self) -> QueueStatus:
        """The queue, at most a second old.

        Raises:
            Unavailable: the service is not open, or Neo4j does not answer.
        """
        return self._looking.recent()

    def status_if_known(self) -> QueueStatus | None:
        """The queue, for metrics; None while it cannot be looked at."""
        try:
            return self.status()
        except KgError:
            return None

    def check(self) -> Check:
        """Whether somebody does the work that waits.

        Not while the service is younger than the time that work may wait: after a night's pause the worker
        that starts beside it has yet to begin.

        Raises:
            Unavailable: as in `status`.
        """
        status, container = self.status(), self._opening.container()
        limit = container.settings.api.backlog_seconds
        overdue = min(status.oldest_waiting_seconds, self._opening.up_seconds()) > limit
        if overdue and not is_touched(container.graph, within_seconds=limit):
            return Check(name="worker", ok=False, detail=_idle(status))
        detail = f"{status.running} jobs running, {status.queued} queued, {pluralize(status.alive, 'worker')}"
        return Check(name="worker", ok=True, detail=detail)


def _idle(status: QueueStatus) -> str:
    waiting = f"a job has been waiting for {status.oldest_waiting_seconds:.0f} s and no worker takes it"
    if status.alive:
        return f"{waiting}, though {status.alive} are there: are they of an older kg? Their logs say more"
    return f"{waiting}: none is running; start one with `kg up`, or `kg worker` on a server"
