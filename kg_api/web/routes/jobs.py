"""Jobs, watched."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from kg_api.graph.jobs import find_job, page_of_jobs
from kg_api.models.jobs import Job, JobPage, JobState
from kg_api.web.dependencies import JobId, Offset, OntologyFilter, Open, PageSize

router = APIRouter(tags=["jobs"])

Kind = Annotated[
    str | None,
    Query(max_length=50, pattern=r"^[a-z_]+$", description="Only this kind; unset: all but scheduled ones."),
]


@router.get("/jobs", summary="One page of jobs, the newest first")
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
    return JobPage(jobs=found, total=total, offset=offset, limit=limit)


@router.get("/jobs/{job_id}", summary="One job")
def get_job(container: Open, job_id: JobId) -> Job:
    """Give a job's state and progress: items done and in all, rate, time to go."""
    return find_job(container.graph, job_id)
