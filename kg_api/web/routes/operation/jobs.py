"""Jobs, watched, cancelled and tried again; and the queue as a whole."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from kg_api.graph.jobs import cancel_job, find_job, page_of_jobs
from kg_api.graph.jobs.queue import queue_status
from kg_api.graph.naming.nodes import identify_job
from kg_api.graph.naming.ontologies import require_ontologies
from kg_api.models.jobs import Job, JobPage
from kg_api.models.queue import QueueStatus
from kg_api.models.vocabulary import JobState
from kg_api.web.dependencies import JobId, Offset, OntologyFilter, Open, PageSize
from kg_api.web.openapi import event_stream
from kg_api.web.streams import Streams

router = APIRouter(tags=["jobs"])

Kind = Annotated[
    str | None,
    Query(max_length=50, pattern=r"^[a-z_]+$", description="Only this kind; unset: all but scheduled ones."),
]
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-Sent Events; the data of each is a Job.",
        "content": {"text/event-stream": event_stream({"progress": Job, "end": Job})},
    }
}


@router.get("/jobs", summary="List jobs, newest first")
def list_jobs(
    *,
    container: Open,
    state: JobState | None = None,
    kind: Kind = None,
    ontology: OntologyFilter = None,
    offset: Offset = 0,
    limit: PageSize = 50,
) -> JobPage:
    """Give jobs with state and progress."""
    found, total = page_of_jobs(
        container.graph, state=state, kind=kind, ontology=ontology, offset=offset, limit=limit
    )
    if not total:
        require_ontologies(container.graph, ontology)
    return JobPage(jobs=found, total=total, offset=offset, limit=limit)


@router.get(
    "/jobs/events", summary="Stream the progress of all jobs", response_class=Response, responses=EVENTS
)
async def follow_jobs(request: Request, container: Open, ontology: OntologyFilter = None) -> Response:
    """Stream Server-Sent Events: `progress` when a job changes, `end` when it has ended; data is the Job.

    It begins with all unfinished jobs and those that ended within the last half minute, and goes on until
    you hang up. A comment comes every 10 s. 429: so many follow already; ask for the jobs now and then.
    """
    return _streams(request).of_all(container.graph, ontology)


@router.get("/jobs/{job_id}", summary="Get a job")
def get_job(container: Open, job_id: JobId) -> Job:
    """Give a job's state and progress: items done and in all, rate, time to go."""
    return find_job(container.graph, identify_job(container.graph, job_id))


@router.get(
    "/jobs/{job_id}/events", summary="Stream the progress of a job", response_class=Response, responses=EVENTS
)
async def follow_job(request: Request, container: Open, job_id: JobId) -> Response:
    """Stream Server-Sent Events: `progress` when the job changes, `end` when it has ended; data is the Job.

    It ends after `end`, or without it when the database goes away: ask for the job then. A comment comes
    every 10 s. 429: so many follow already; ask for the job now and then.
    """
    identity = await run_in_threadpool(identify_job, container.graph, job_id)
    await run_in_threadpool(find_job, container.graph, identity)  # 404 before anything is streamed
    return _streams(request).of_job(container.graph, identity)


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job")
def cancel(container: Open, job_id: JobId) -> Job:
    """End a job that waits or runs; its worker writes nothing more, what it has written stays.

    An ontology whose embedding is cancelled is left alone until somebody asks for it again. Cancelling twice
    is no error; 409: the job has ended in another way.
    """
    return cancel_job(container.graph, identify_job(container.graph, job_id))


@router.post("/jobs/{job_id}/retry", summary="Retry a job")
def retry(container: Open, job_id: JobId) -> Job:
    """Put a job that is dead, cancelled or completed with errors into the queue again, under the same id.

    One that waits for its next try is tried now; one that waits for other work shares turns with it.
    409: it runs, is completed, or another job does the same.
    """
    return container.embeddings.retry(identify_job(container.graph, job_id))


@router.get("/queue", summary="Get the status of the queue and its workers")
def get_queue(container: Open) -> QueueStatus:
    """Count jobs that wait, run, are stalled or dead; say for how long work has waited; list the workers."""
    return queue_status(container.graph)


def _streams(request: Request) -> Streams:
    return request.app.state.streams
