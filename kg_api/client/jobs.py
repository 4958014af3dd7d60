"""Background work, and the queue it waits in."""

from __future__ import annotations

from kg_api.client.call import Call, Events, get, post
from kg_api.client.sending import request, stream
from kg_api.schemas.operations import FINISHED, Job, JobPage, QueueStatus


class JobMethods:
    @request
    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        ontology: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> Call[JobPage]:
        """List jobs, the newest first."""
        return get(JobPage, "jobs", state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)

    @request
    def job(self, job_id: str) -> Call[Job]:
        """Read a job."""
        return get(Job, "jobs", job_id)

    @request
    def cancel_job(self, job_id: str) -> Call[Job]:
        """End a job that waits or runs; what it has written stays."""
        return post(Job, "jobs", job_id, "cancel")

    @request
    def retry_job(self, job_id: str) -> Call[Job]:
        """Put a job that ended badly into the queue again; one that waits for its next try begins now."""
        return post(Job, "jobs", job_id, "retry")

    @stream
    def follow_job(self, job_id: str) -> Events[Job]:
        """Give a job whenever it changes, at last as it has ended.

        It may stop before, when the service or its database goes away: then ask for the job.
        """
        return Events(get(Job, "jobs", job_id, "events"), is_last=lambda job: job.state in FINISHED)

    @stream
    def follow_jobs(self, ontology: str | None = None) -> Events[Job]:
        """Give jobs whenever they change, first all that are unfinished or have just ended; it has no end."""
        return Events(get(Job, "jobs", "events", ontology=ontology))

    @request
    def queue(self) -> Call[QueueStatus]:
        """Look at the queue and its workers."""
        return get(QueueStatus, "queue")
