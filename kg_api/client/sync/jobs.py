# Written by scripts/unasync.py from ../asynchronous/jobs.py; change that, not this.
"""Background work, and the queue it waits in."""

from __future__ import annotations

from collections.abc import Generator

from kg_api.client.sync.sending import Sending
from kg_api.client.transport.call import get, post
from kg_api.schemas.operations import FINISHED, Job, JobPage, QueueStatus


class JobMethods(Sending):
    """Jobs."""

    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        ontology: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> JobPage:
        """List jobs, the newest first."""
        call = get(JobPage, "jobs", state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)
        return self._send(call)

    def job(self, job_id: str) -> Job:
        """Read a job."""
        return self._send(get(Job, "jobs", job_id))

    def cancel_job(self, job_id: str) -> Job:
        """End a job that waits or runs; what it has written stays."""
        return self._send(post(Job, "jobs", job_id, "cancel"))

    def retry_job(self, job_id: str) -> Job:
        """Put a job that ended badly into the queue again; one that waits for its next try begins now."""
        return self._send(post(Job, "jobs", job_id, "retry"))

    def follow_job(self, job_id: str) -> Generator[Job]:
        """Give a job whenever it changes, at last as it has ended.

        It may stop before, when the service or its database goes away: then ask for the job.
        """
        for each in self._follow(get(Job, "jobs", job_id, "events")):
            yield each
            if each.state in FINISHED:
                return

    def follow_jobs(self, ontology: str | None = None) -> Generator[Job]:
        """Give jobs whenever they change, first all that are unfinished or have just ended; it has no end."""
        return self._follow(get(Job, "jobs", "events", ontology=ontology))

    def queue(self) -> QueueStatus:
        """Look at the queue and its workers."""
        return self._send(get(QueueStatus, "queue"))
