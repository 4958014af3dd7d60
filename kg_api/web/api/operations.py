"""Routes for jobs, keys, the audit log, health, metrics, and the API documentation."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.metadata import distribution
from pathlib import Path as PathlibPath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, RedirectResponse
from pydantic import BeforeValidator

from kg_api import __version__
from kg_api.access import keys
from kg_api.access.keys import find_key_ids
from kg_api.graph.jobs import cancel_job, find_job, read_jobs_page, read_queue_status
from kg_api.graph.keys import read_audit_page, read_keys
from kg_api.graph.names import identify_job, require_ontologies
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.metrics import CONTENT_TYPE, QueueGauges, render_metrics
from kg_api.schemas.base import Text
from kg_api.schemas.metadata import read_time
from kg_api.schemas.operations import (
    ApiKey,
    ApiKeys,
    AuditPage,
    CreatedKey,
    Health,
    Job,
    JobPage,
    KeyRotation,
    NewKey,
    QueueStatus,
    Readiness,
)
from kg_api.schemas.vocabulary import MAX_KEY_NAME, JobState
from kg_api.web.shared.dependencies import JobId, Offset, OntologyFilter, Open, PageSize
from kg_api.web.shared.health import QueueWatch, check_readiness, without_names
from kg_api.web.shared.routes import GuardedRoute, Routes, declare_example
from kg_api.web.shared.scopes import public, requires
from kg_api.web.shared.security import get_current_access
from kg_api.web.shared.streams import JobStreams

key_routes = Routes("keys")
OfKey = Annotated[
    Text | None,
    Query(min_length=1, max_length=MAX_KEY_NAME, description="Id or name of a key, `local` or `anyone`."),
]
Since = Annotated[
    Annotated[datetime, BeforeValidator(read_time)] | None,
    Query(description="Only from this time. Without a zone, it is UTC."),
]
NO_KEYS = frozenset({"local", "anyone"})


@key_routes.get("/audit", "admin", "List changes and the users who made them")
def list_audit(
    container: Open, key: OfKey = None, since: Since = None, offset: Offset = 0, limit: PageSize = 100
) -> AuditPage:
    """You can see a change within a second after the response. Changes are kept for a year."""
    graph = container.graph
    key_ids = None if key is None else [key] if key in NO_KEYS else find_key_ids(read_keys(graph), key)
    entries, total = read_audit_page(graph, key_ids=key_ids, since=since, offset=offset, limit=limit)
    return AuditPage(entries=entries, total=total, offset=offset, limit=limit)


health_router = APIRouter(tags=["health"], route_class=GuardedRoute)


@health_router.get("/health", summary="Liveness check")
@public()
async def health(request: Request) -> Health:
    """This answers while the process is running. You can see problems around the process in `notes`."""
    around = request.app.state.surroundings
    return Health(version=__version__, instance=around.instance(), notes=around.notes())


@health_router.get("/ready", summary="Readiness check", responses={503: {"model": Readiness}})
@public(identified=True)
def ready(request: Request, response: Response) -> Readiness:
    """Return 503 if you cannot search, if jobs have to wait for a worker, or if a process keeps dying.

    If keys are required, only keys for all ontologies get more than `ready` and `waiting_for`.
    """
    state = request.app.state
    with limit_visible_ontologies(None):  # readiness does not depend on the key
        readiness = check_readiness(state.opening, state.queue, state.surroundings.checks())
    if not readiness.ready:
        response.status_code = 503
    return readiness if get_current_access(request).ontologies is None else without_names(readiness)


jobs = Routes("jobs")
Kind = Annotated[
    str | None, Query(max_length=50, pattern=r"^[a-z_]+$", description="Default: all except scheduled ones.")
]
EVENTS: dict[str, Any] = {
    "filtered": True,
    "response_class": Response,
    "responses": {
        200: {
            "description": "Server-Sent Events `progress` and `end`, each with a Job as data.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
}


@jobs.get("/jobs", "read", "List jobs, starting with the newest", filtered=True)
def list_jobs(
    *,
    container: Open,
    state: JobState | None = None,
    kind: Kind = None,
    ontology: OntologyFilter = None,
    offset: Offset = 0,
    limit: PageSize = 50,
) -> JobPage:
    found, total = read_jobs_page(
        container.graph, state=state, kind=kind, ontology=ontology, offset=offset, limit=limit
    )
    if not total:
        require_ontologies(container.graph, ontology)
    return JobPage(jobs=found, total=total, offset=offset, limit=limit)


@jobs.get("/jobs/events", "read", "Stream the progress of all jobs", **EVENTS)
async def follow_jobs(request: Request, container: Open, ontology: OntologyFilter = None) -> Response:
    """Send `progress` and `end` events with a Job, first for unfinished jobs. 429: too many streams."""
    streams: JobStreams = request.app.state.streams
    return streams.stream_all(container.graph, ontology)


@jobs.get("/jobs/{job_id}", "read", "Get a job", filtered=True)
def get_job(container: Open, job_id: JobId) -> Job:
    return find_job(container.graph, identify_job(container.graph, job_id))


@jobs.get("/jobs/{job_id}/events", "read", "Stream the progress of a job", **EVENTS)
async def follow_job(request: Request, container: Open, job_id: JobId) -> Response:
    """Send `progress` events with the Job, and then `end`.

    If this breaks, use the job. 429: too many streams.
    """
    identity = await run_in_threadpool(identify_job, container.graph, job_id)
    await run_in_threadpool(find_job, container.graph, identity)  # return 404 before the stream starts
    streams: JobStreams = request.app.state.streams
    return streams.stream_job(container.graph, identity)


@jobs.post("/jobs/{job_id}/cancel", "write", "Cancel a job", filtered=True)
def cancel(container: Open, job_id: JobId) -> Job:
    """Written data stays. Embedding stays off until you start it again. 409: the job has ended."""
    return cancel_job(container.graph, identify_job(container.graph, job_id))


@jobs.post("/jobs/{job_id}/retry", "write", "Retry a job", filtered=True)
def retry(container: Open, job_id: JobId) -> Job:
    """Queue an incomplete job again with the same id, or run a waiting job now. 409: this is not possible."""
    return container.embeddings.retry(identify_job(container.graph, job_id))


@jobs.get("/queue", "read", "Get the status of the queue and its workers")
def get_queue(container: Open) -> QueueStatus:
    return read_queue_status(container.graph)


CalledKey = Annotated[Text, Path(min_length=1, max_length=MAX_KEY_NAME, description="Id or name of a key.")]


@key_routes.get("/keys", "admin", "List API keys")
def list_keys(container: Open, request: Request) -> ApiKeys:
    return ApiKeys(keys=read_keys(container.graph), required=request.app.state.keys_required)


@key_routes.post("/keys", "admin", "Create an API key", status_code=201)
def create_key(
    container: Open,
    request: Request,
    key: Annotated[NewKey, declare_example(name="import", scope="write", valid_days=90)],
) -> CreatedKey:
    """You can see `key` in this response only. 409: an active key has this name."""
    return keys.create_key(container.graph, key, get_current_access(request).key_id)


@key_routes.post("/keys/{key_id}/rotate", "admin", "Replace an API key", status_code=201)
def rotate_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    rotation: Annotated[KeyRotation, declare_example(overlap_hours=1)],
) -> CreatedKey:
    """You can use the old key for `overlap_hours`. 409: it is not active, was replaced, or is ambiguous."""
    return keys.rotate_key(container.graph, key_id, rotation, get_current_access(request).key_id)


@key_routes.post("/keys/{key_id}/revoke", "admin", "Revoke an API key")
def revoke_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    *,
    force: Annotated[bool, Query(description="Revoke even the last key with all rights.")] = False,
) -> ApiKey:
    """The key can be used for up to five seconds more. 409: ambiguous, or the last key with all rights."""
    remote = request.app.state.keys_required and get_current_access(request).is_key
    return keys.revoke_key(container.graph, key_id, but_the_last=remote and not force)


TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics."}
}


@health_router.get("/metrics", summary="Prometheus metrics", response_class=Response, responses=TEXT)
@requires("read")
def metrics(request: Request) -> Response:
    watch: QueueWatch = request.app.state.queue
    return Response(render_metrics(QueueGauges(watch.status_if_known())), media_type=CONTENT_TYPE)


PAGES = PathlibPath(__file__).parents[1] / "pages"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers for the API documentation. Only own scripts can be used. Swagger UI needs inline styles."""


@health_router.get("/", include_in_schema=False)
@public()
async def start() -> Response:
    return RedirectResponse("/ui/search", 303)


@health_router.get("/docs", include_in_schema=False)
@public()
async def docs() -> Response:
    return FileResponse(PAGES / "docs.html", headers=HEADERS)


@health_router.get("/docs/start.js", include_in_schema=False)
@public()
async def docs_script() -> Response:
    return FileResponse(PAGES / "start.js", headers=HEADERS)


@health_router.get("/docs/{name}", include_in_schema=False)
@public()
async def docs_file(name: Literal["swagger-ui.css", "swagger-ui-bundle.js"]) -> Response:
    return FileResponse(_find_swagger_ui() / name, headers={**HEADERS, "Cache-Control": "max-age=3600"})


@cache
def _find_swagger_ui() -> PathlibPath:
    """Find the files for Swagger UI in an installed package, which is not imported."""
    return PathlibPath(str(distribution("fastapi-offline").locate_file("fastapi_offline/static")))
