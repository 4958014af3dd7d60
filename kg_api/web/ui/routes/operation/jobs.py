"""The jobs page: what kg works on, as it goes on."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.graph.jobs import page_of_jobs
from kg_api.models.jobs import FINISHED
from kg_api.models.vocabulary import JobState
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import JobId, Offset, Open
from kg_api.web.routes.operation import jobs
from kg_api.web.ui.links import JOBS, address
from kg_api.web.ui.rendering import render, wants_part

PAGE_SIZE: Final = 30
RETRIED: Final = frozenset({JobState.DEAD, JobState.CANCELLED, JobState.COMPLETED_WITH_ERRORS})
"""States of jobs that can be tried again."""

router = APIRouter(include_in_schema=False)


@router.get(JOBS)
def jobs_page(
    request: Request,
    container: Open,
    state: JobState | Literal[""] = "",
    kind: Annotated[str, Query(max_length=50, pattern="^[a-z_]*$")] = "",
    ontology: Annotated[str, Query(max_length=1000)] = "",
    *,
    offset: Offset = 0,
) -> HTMLResponse:
    """Show jobs, the newest first, all but scheduled ones or one kind; to htmx the list alone."""
    found, total = page_of_jobs(
        container.graph,
        state=state or None,
        kind=kind or None,
        ontology=ontology or None,
        offset=offset,
        limit=PAGE_SIZE,
    )
    page = {"offset": offset, "limit": PAGE_SIZE, "total": total}
    shown = {"jobs": found, "page": page, "state": state, "kind": kind, "ontology": ontology}
    shown |= {"here": address(JOBS, state=state, kind=kind, ontology=ontology, offset=offset or None)}
    shown |= {"states": list(JobState), "finished": FINISHED, "retried": RETRIED}
    return render("jobs/list.html" if wants_part(request) else "jobs/page.html", shown)


@router.post(JOBS + "/{job_id}/cancel")
def cancel(request: Request, container: Open, job_id: JobId) -> Response:
    """End a job."""
    note_outcome(request, jobs.cancel(container, job_id))
    return RedirectResponse(JOBS, 303)


@router.post(JOBS + "/{job_id}/retry")
def retry(request: Request, container: Open, job_id: JobId) -> Response:
    """Try a job again."""
    note_outcome(request, jobs.retry(container, job_id))
    return RedirectResponse(JOBS, 303)
