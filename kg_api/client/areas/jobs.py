"""Background work, and the queue it waits in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

from kg_api.client.call import Call, params_of, path_of
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.jobs import FINISHED, Job, JobPage
from kg_api.models.queue import QueueStatus


def jobs(state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int) -> Call[JobPage]:
    """List jobs."""
    params = params_of(state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)
    return Call("GET", "/jobs", JobPage, params=params)


def job(job_id: str) -> Call[Job]:
    """Read a job."""
    return Call("GET", path_of("jobs", job_id), Job)


def cancel_job(job_id: str) -> Call[Job]:
    """End a job."""
    return Call("POST", path_of("jobs", job_id, "cancel"), Job)


def retry_job(job_id: str) -> Call[Job]:
    """Try a job again."""
    return Call("POST", path_of("jobs", job_id, "retry"), Job)


def follow_job(job_id: str) -> Call[Job]:
    """Follow a job; the answer is that of each event."""
    return Call("GET", path_of("jobs", job_id, "events"), Job)


def follow_jobs(ontology: str | None) -> Call[Job]:
    """Follow all jobs; the answer is that of each event."""
    return Call("GET", "/jobs/events", Job, params=params_of(ontology=ontology))


def queue() -> Call[QueueStatus]:
    """Look at the queue as a whole."""
    return Call("GET", "/queue", QueueStatus)


class JobsMethods(Sending):
    """Methods of the synchronous client."""

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
        return self._send(jobs(state, kind, ontology, offset, limit))

    def job(self, job_id: str) -> Job:
        """Read a job."""
        return self._send(job(job_id))

    def cancel_job(self, job_id: str) -> Job:
        """End a job that waits or runs; what it has written stays."""
        return self._send(cancel_job(job_id))

    def retry_job(self, job_id: str) -> Job:
        """Put a job that ended badly into the queue again; one that waits for its next try begins now."""
        return self._send(retry_job(job_id))

    def follow_job(self, job_id: str) -> Generator[Job]:
        """Give a job whenever it changes, at last as it has ended.

        It may stop before, when the service or its database goes away: then ask for the job.
        """
        for each in self._follow(follow_job(job_id)):
            yield each
            if each.state in FINISHED:
                return

    def follow_jobs(self, ontology: str | None = None) -> Generator[Job]:
        """Give jobs whenever they change, first all that are unfinished or have just ended; it has no end."""
        return self._follow(follow_jobs(ontology))

    def queue(self) -> QueueStatus:
        """Look at the queue and its workers."""
        return self._send(queue())


class AsyncJobsMethods(AsyncSending):
    """Methods of the asynchronous client."""

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
        return await self._send(jobs(state, kind, ontology, offset, limit))

    async def job(self, job_id: str) -> Job:
        """Read a job."""
        return await self._send(job(job_id))

    async def cancel_job(self, job_id: str) -> Job:
        """End a job that waits or runs; what it has written stays."""
        return await self._send(cancel_job(job_id))

    async def retry_job(self, job_id: str) -> Job:
        """Put a job that ended badly into the queue again; one that waits for its next try begins now."""
        return await self._send(retry_job(job_id))

    async def follow_job(self, job_id: str) -> AsyncGenerator[Job]:
        """Give a job whenever it changes, at last as it has ended.

        It may stop before, when the service or its database goes away: then ask for the job.
        """
        async for each in self._follow(follow_job(job_id)):
            yield each
            if each.state in FINISHED:
                return

    async def follow_jobs(self, ontology: str | None = None) -> AsyncGenerator[Job]:
        """Give jobs whenever they change, first all that are unfinished or have just ended; it has no end."""
        async for each in self._follow(follow_jobs(ontology)):
            yield each

    async def queue(self) -> QueueStatus:
        """Look at the queue and its workers."""
        return await self._send(queue())
