"""Background work, and the queue it waits in."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.transport.call import get, post
from kg_api.schemas.operations import FINISHED, Job, JobPage, QueueStatus


class AsyncJobMethods(AsyncSending):
    """Jobs."""

    async def jobs(
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
        return await self._send(call)

    async def job(self, job_id: str) -> Job:
        """Read a job."""
        return await self._send(get(Job, "jobs", job_id))

    async def cancel_job(self, job_id: str) -> Job:
        """End a job that waits or runs; what it has written stays."""
        return await self._send(post(Job, "jobs", job_id, "cancel"))

    async def retry_job(self, job_id: str) -> Job:
        """Put a job that ended badly into the queue again; one that waits for its next try begins now."""
        return await self._send(post(Job, "jobs", job_id, "retry"))

    async def follow_job(self, job_id: str) -> AsyncGenerator[Job]:
        """Give a job whenever it changes, at last as it has ended.

        It may stop before, when the service or its database goes away: then ask for the job.
        """
        async for each in self._follow(get(Job, "jobs", job_id, "events")):
            yield each
            if each.state in FINISHED:
                return

    def follow_jobs(self, ontology: str | None = None) -> AsyncGenerator[Job]:
        """Give jobs whenever they change, first all that are unfinished or have just ended; it has no end."""
        return self._follow(get(Job, "jobs", "events", ontology=ontology))

    async def queue(self) -> QueueStatus:
        """Look at the queue and its workers."""
        return await self._send(get(QueueStatus, "queue"))
