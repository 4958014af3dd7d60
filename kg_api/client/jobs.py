"""Client methods for jobs and the queue."""

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
        return get(JobPage, "jobs", state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)

    @request
    def job(self, job_id: str) -> Call[Job]:
        return get(Job, "jobs", job_id)

    @request
    def cancel_job(self, job_id: str) -> Call[Job]:
        """Cancel a job. This does not remove data that it has written."""
        return post(Job, "jobs", job_id, "cancel")

    @request
    def retry_job(self, job_id: str) -> Call[Job]:
        """Queue a failed job again. If it waits for the next attempt, it will start now."""
        return post(Job, "jobs", job_id, "retry")

    @stream
    def follow_job(self, job_id: str) -> Events[Job]:
        """Yield a job after each change, until it has ended.

        This can stop earlier, when the service or the database stops. In this case, use `job`.
        """
        return Events(get(Job, "jobs", job_id, "events"), is_last=lambda job: job.state in FINISHED)

    @stream
    def follow_jobs(self, ontology: str | None = None) -> Events[Job]:
        """Yield unfinished and recently ended jobs, and then each job that changes. This does not end."""
        return Events(get(Job, "jobs", "events", ontology=ontology))

    @request
    def queue(self) -> Call[QueueStatus]:
        """Get the state of the queue, to see jobs and workers."""
        return get(QueueStatus, "queue")
