"""Jobs, keys, the audit log, health, metrics, and the page of the API."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distribution
from pathlib import Path as PathlibPath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.models import Example
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse

from kg_api import __version__
from kg_api.access import keys
from kg_api.access.keys import ids_called
from kg_api.container import Container
from kg_api.errors import KgError
from kg_api.graph.client import Graph
from kg_api.graph.jobs import cancel_job, find_job, page_of_jobs, queue_status
from kg_api.graph.keys import page_of_audit, read_keys
from kg_api.graph.names import identify_job, require_ontologies
from kg_api.graph.reach import reaching
from kg_api.graph.schema import index_states
from kg_api.graph.search import TEXT_INDEX
from kg_api.graph.spaces import Space, all_spaces
from kg_api.metrics import CONTENT_TYPE, BackupGauges, QueueGauges, exposition
from kg_api.schemas.base import Text
from kg_api.schemas.operations import (
    ApiKey,
    ApiKeys,
    AuditPage,
    Check,
    CreatedKey,
    Health,
    Job,
    JobPage,
    KeyRotation,
    NewKey,
    QueueStatus,
    Readiness,
    Start,
)
from kg_api.schemas.vocabulary import MAX_KEY_NAME, JobState
from kg_api.spaces.images import OpenImageSpace
from kg_api.spaces.open_spaces import OpenSpace
from kg_api.spaces.plans import EmbeddingState, read_embedding_states
from kg_api.spaces.registry import space_of_new
from kg_api.web.shared.dependencies import JobId, Offset, OntologyFilter, Open, PageSize
from kg_api.web.shared.forwarded import below_prefix
from kg_api.web.shared.health import QueueWatch, Surroundings
from kg_api.web.shared.openapi import event_stream
from kg_api.web.shared.opening import Opening
from kg_api.web.shared.routes import ApiRoute, GuardedRoute
from kg_api.web.shared.scopes import public, requires
from kg_api.web.shared.security import asking
from kg_api.web.shared.streams import Streams
from kg_api.web.ui.links import SEARCH

keys_router = APIRouter(tags=["keys"], route_class=ApiRoute)

OfKey = Annotated[
    Text | None,
    Query(
        min_length=1,
        max_length=MAX_KEY_NAME,
        description="Only with this key: its id, the name of one or several, `local` or `anyone`.",
    ),
]
Since = Annotated[datetime | None, Query(description="Only from then on; without a zone it is UTC.")]
NO_KEYS = frozenset({"local", "anyone"})


@keys_router.get("/audit", summary="List what was changed and by whom")
@requires("admin")
def list_audit(
    container: Open, key: OfKey = None, since: Since = None, offset: Offset = 0, limit: PageSize = 100
) -> AuditPage:
    """Give the requests that changed something, the newest first; they are kept for a year.

    An entry is written within a second after its request was answered. 404: there is no such key.
    """
    graph = container.graph
    key_ids = None if key is None else [key] if key in NO_KEYS else ids_called(read_keys(graph), key)
    from_then = since.replace(tzinfo=UTC) if since is not None and since.tzinfo is None else since
    entries, total = page_of_audit(graph, key_ids=key_ids, since=from_then, offset=offset, limit=limit)
    return AuditPage(entries=entries, total=total, offset=offset, limit=limit)


# Whether the service lives, and whether it can do its work.

DEGRADING = frozenset({"model", "disk"})
"""Checks that may fail while searches are answered all the same."""

health_router = APIRouter(tags=["health"], route_class=GuardedRoute)


@health_router.head("/health", include_in_schema=False)
@health_router.get("/health", summary="Liveness check")
@public()
async def health(request: Request) -> Health:
    """Answer as long as the process does; what is wrong around it is told in `notes`."""
    around = request.app.state.surroundings
    return Health(version=__version__, instance=around.instance(), notes=around.notes())


@health_router.head("/ready", include_in_schema=False)
@health_router.get("/ready", summary="Readiness check", responses={503: {"model": Readiness}})
@public(identified=True)
def ready(request: Request, response: Response) -> Readiness:
    """Check database, schema, indexes, model and worker, the processes beside this one, and the disk.

    503 until all that searches need is there, when work waits that no worker takes, and while a process dies
    again and again. If keys are required, only a key for all ontologies sees the checks. Other requests get
    `ready` and the kind of part in `waiting_for`.
    """
    around = request.app.state.surroundings.checks()
    readiness = shown_readiness(request, around)
    if not readiness.ready:
        response.status_code = 503
    return readiness


def shown_readiness(request: Request, around: Sequence[Check] = ()) -> Readiness:
    """Check all parts, and hide the names of spaces and models unless the sender may see all ontologies."""
    with reaching(None):  # whether the service is ready does not depend on the key
        readiness = readiness_of(request.app.state.opening, request.app.state.queue, around)
    return readiness if asking(request).ontologies is None else without_names(readiness)


def without_names(readiness: Readiness) -> Readiness:
    blocking = next((each.name for each in readiness.checks if _blocks(each)), None)
    part = {None: "the service to open", "worker": "a worker", "processes": "a process that keeps dying"}
    waiting_for = None if readiness.ready else part.get(blocking, "an index")
    return Readiness(ready=readiness.ready, waiting_for=waiting_for)


def _blocks(check: Check) -> bool:
    return not check.ok and check.name not in DEGRADING


def readiness_of(opening: Opening, queue: QueueWatch, around: Sequence[Check] = ()) -> Readiness:
    """Check all parts.

    A missing model leaves the service ready, for it searches by full text then; so does a full disk.
    """
    if reason := opening.waiting_for():
        return Readiness(ready=False, waiting_for=reason, checks=[*around])
    try:
        container = opening.container()
        graph = container.graph
        states, new = [*read_embedding_states(graph).values()], space_of_new(all_spaces(graph))
        checks = [*_index_checks(graph, states, new), *_model_checks(container, states, new)]
        checks += [queue.check(), *around]
    except KgError as error:
        return Readiness(ready=False, waiting_for=str(error), checks=[*around])
    blocking = [*filter(_blocks, checks)]
    waiting_for = blocking[0].detail if blocking else None
    return Readiness(ready=not blocking, waiting_for=waiting_for, checks=checks)


def _index_checks(graph: Graph, states: Sequence[EmbeddingState], new: Space) -> list[Check]:
    """The indexes that searches use now; one that is being built beside is nobody's concern yet."""
    wanted = {TEXT_INDEX, new.index_name, *(each.answering.space.index_name for each in states)}
    wanted |= {plan.space.image_index_name for each in states for plan in each.images[:1]}
    there = index_states(graph)
    checks: list[Check] = []
    for name in sorted(wanted):
        if state := there.get(name):
            told = f"index {name} is {state.state.lower()}, {state.percent:.0f} % populated"
            checks.append(Check(name=name, ok=state.online, detail=told))
        else:
            checks.append(Check(name=name, ok=False, detail=f"index {name} is not there"))
    return checks


def _model_checks(container: Container, states: Sequence[EmbeddingState], new: Space) -> list[Check]:
    """The model of new ontologies, and what is known of others that searches use: none is loaded for it."""
    first = container.spaces.of(new)
    used = {each.answering.space.slug: each.answering.space for each in states}
    others = [container.spaces.of(used[slug]) for slug in sorted(used) if slug != first.space.slug]
    seeing = {plan.space.slug: plan.space for each in states for plan in each.images}
    images = [container.image_spaces.of(seeing[slug]) for slug in sorted(seeing)]
    return [
        *seeing_checks(images),
        _model_check(first.problem(), "full text only", first.space.identity.model),
        *_troubles(others, "full text only"),
    ]


def _troubles(opened: Sequence[OpenSpace | OpenImageSpace], effect: str) -> list[Check]:
    told = ((each.space.slug, each.trouble()) for each in opened)
    return [
        _model_check(trouble, f"{effect} in the space {slug!r}", "")
        for slug, trouble in told
        if trouble is not None
    ]


def seeing_checks(images: Sequence[OpenImageSpace]) -> list[Check]:
    """The models that see, in the spaces of pictures that are used: which they are, or what is wrong."""
    well = (each.space for each in images if each.trouble() is None)
    told = [f"{space.identity.model}, of pictures in the space {space.slug!r}" for space in well]
    return [
        *_troubles(images, "pictures by their words only"),
        *(Check(name="model", ok=True, detail=each) for each in told),
    ]


def _model_check(problem: str | None, effect: str, model: str) -> Check:
    if problem is not None:
        return Check(name="model", ok=False, detail=f"{effect}: {problem}")
    return Check(name="model", ok=True, detail=model)


# Jobs, watched, cancelled and tried again; and the queue as a whole.

jobs_router = APIRouter(tags=["jobs"], route_class=ApiRoute)

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


@jobs_router.get("/jobs", summary="List jobs, newest first")
@requires("read", filtered=True)
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


@jobs_router.get(
    "/jobs/events", summary="Stream the progress of all jobs", response_class=Response, responses=EVENTS
)
@requires("read", filtered=True)
async def follow_jobs(request: Request, container: Open, ontology: OntologyFilter = None) -> Response:
    """Stream Server-Sent Events: `progress` when a job changes, `end` when it has ended; data is the Job.

    It begins with all unfinished jobs and those that ended within the last half minute, and goes on until
    you hang up. A comment comes every 10 s. 429: so many follow already; ask for the jobs now and then.
    """
    return _streams(request).of_all(container.graph, ontology)


@jobs_router.get("/jobs/{job_id}", summary="Get a job")
@requires("read", filtered=True)
def get_job(container: Open, job_id: JobId) -> Job:
    """Give a job's state and progress: items done and in all, rate, time to go."""
    return find_job(container.graph, identify_job(container.graph, job_id))


@jobs_router.get(
    "/jobs/{job_id}/events", summary="Stream the progress of a job", response_class=Response, responses=EVENTS
)
@requires("read", filtered=True)
async def follow_job(request: Request, container: Open, job_id: JobId) -> Response:
    """Stream Server-Sent Events: `progress` when the job changes, `end` when it has ended; data is the Job.

    It ends after `end`, or without it when the database goes away: ask for the job then. A comment comes
    every 10 s. 429: so many follow already; ask for the job now and then.
    """
    identity = await run_in_threadpool(identify_job, container.graph, job_id)
    await run_in_threadpool(find_job, container.graph, identity)  # 404 before anything is streamed
    return _streams(request).of_job(container.graph, identity)


@jobs_router.post("/jobs/{job_id}/cancel", summary="Cancel a job")
@requires("write", filtered=True)
def cancel(container: Open, job_id: JobId) -> Job:
    """End a job that waits or runs; its worker writes nothing more, what it has written stays.

    An ontology whose embedding is cancelled is left alone until somebody asks for it again. Cancelling twice
    is no error; 409: the job has ended in another way.
    """
    return cancel_job(container.graph, identify_job(container.graph, job_id))


@jobs_router.post("/jobs/{job_id}/retry", summary="Retry a job")
@requires("write", filtered=True)
def retry(container: Open, job_id: JobId) -> Job:
    """Put a job that is dead, cancelled or completed with errors into the queue again, under the same id.

    One that waits for its next try is tried now; one that waits for other work shares turns with it.
    409: it runs, is completed, or another job does the same.
    """
    return container.embeddings.retry(identify_job(container.graph, job_id))


@jobs_router.get("/queue", summary="Get the status of the queue and its workers")
@requires("read")
def get_queue(container: Open) -> QueueStatus:
    """Count jobs that wait, run, are stalled or dead; say for how long work has waited; list the workers."""
    return queue_status(container.graph)


def _streams(request: Request) -> Streams:
    return request.app.state.streams


# API keys: made, listed, replaced and revoked.


NEW: dict[str, Example] = {
    "for somebody who searches": {"value": {"name": "ada", "scope": "read"}},
    "for a nightly import": {"value": {"name": "import", "scope": "write", "valid_days": 90}},
}
ROTATION: dict[str, Example] = {"the old one is good for an hour more": {"value": {"overlap_hours": 1}}}
CalledKey = Annotated[
    Text,
    Path(min_length=1, max_length=MAX_KEY_NAME, description="Id of a key, or its name."),
]


@keys_router.get("/keys", summary="List API keys")
@requires("admin")
def list_keys(container: Open, request: Request) -> ApiKeys:
    """Give all keys, the newest first, also those that are expired or revoked; never their secrets."""
    return ApiKeys(keys=read_keys(container.graph), required=request.app.state.keys_required)


@keys_router.post("/keys", status_code=201, summary="Create an API key")
@requires("admin")
def create_key(
    container: Open, request: Request, key: Annotated[NewKey, Body(openapi_examples=NEW)]
) -> CreatedKey:
    """Make a key. `key` in the answer is what its owner sends; it is shown here and never again.

    409: a key that can be used has that name.
    """
    return keys.create_key(container.graph, key, asking(request).key_id)


@keys_router.post("/keys/{key_id}/rotate", status_code=201, summary="Replace an API key")
@requires("admin")
def rotate_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    rotation: Annotated[KeyRotation, Body(openapi_examples=ROTATION)],
) -> CreatedKey:
    """Make a key of the same name and scope; the old one is good for `overlap_hours` beside it.

    404: there is no such key. 409: it cannot be used any more, was replaced, or several are called so.
    """
    return keys.rotate_key(container.graph, key_id, rotation, asking(request).key_id)


@keys_router.post("/keys/{key_id}/revoke", summary="Revoke an API key")
@requires("admin")
def revoke_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    *,
    force: Annotated[
        bool, Query(description="Also the last key that is good for everything, where keys are required.")
    ] = False,
) -> ApiKey:
    """Make a key worth nothing, within five seconds. To do it twice is no error.

    404: there is no such key. 409: several are called so, or it is the last one that is good for everything.
    """
    remote = request.app.state.keys_required and asking(request).is_key
    return keys.revoke_key(container.graph, key_id, but_the_last=remote and not force)


# Metrics for Prometheus: of this process, or of all processes of `kg up` together.


TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics."}
}


@health_router.get("/metrics", summary="Prometheus metrics", response_class=Response, responses=TEXT)
@requires("read")
def metrics(request: Request) -> Response:
    """Give counters and histograms, and gauges of the queue and of backups as they are at this moment."""
    watch: QueueWatch = request.app.state.queue
    surroundings: Surroundings = request.app.state.surroundings
    last = surroundings.last_backup()
    backups = BackupGauges(last and last.made, failed=None if last is None else last.trouble() is not None)
    return Response(exposition(QueueGauges(watch.status_if_known()), backups), media_type=CONTENT_TYPE)


# What this is and where to go, and the API as a page. Nothing of them comes from elsewhere.


DESCRIPTION = "A graph knowledge service: documents go in, passages come back with their exact place."
LINKS = {
    "/ui/search": "pages for a browser: search, read, see",
    "/docs": "the API, to read and to try",
    "/openapi.json": "its description for programs",
    "/ready": "whether all parts work, and what is missing",
    "/health": "whether the process lives",
    "/metrics": "for Prometheus",
    "/mcp": "for agents: the Model Context Protocol, by POST",
}
PAGES = PathlibPath(__file__).parents[1] / "pages"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Scripts are files of ours alone; Swagger UI sets styles within the page."""
FOR_BROWSERS: dict[int | str, dict[str, Any]] = {
    303: {"description": "To a browser: the search page is at `Location`."}
}


@health_router.head("/", include_in_schema=False)
@health_router.get("/", summary="Service information", response_model=Start, responses=FOR_BROWSERS)
@public(identified=True)
def start(request: Request) -> Response:
    """Give name, version, whether it is ready and where to go; a browser is led to the search page."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(SEARCH, 303, {"Vary": "Accept"})
    readiness = shown_readiness(request)
    told = Start(
        description=DESCRIPTION,
        version=__version__,
        ready=readiness.ready,
        waiting_for=readiness.waiting_for,
        links={below_prefix(path): what for path, what in LINKS.items()},
    )
    return JSONResponse(told.model_dump(), headers={**HEADERS, "Vary": "Accept"})


@health_router.head("/docs", include_in_schema=False)
@health_router.get("/docs", include_in_schema=False)
@public()
async def docs() -> Response:
    """Give the page that shows the API."""
    return FileResponse(PAGES / "docs.html", headers=HEADERS)


@health_router.get("/docs/start.js", include_in_schema=False)
@public()
async def docs_script() -> Response:
    """Give what starts Swagger UI: in a file, for scripts within the page are forbidden."""
    return FileResponse(PAGES / "start.js", headers=HEADERS)


@health_router.get("/docs/{name}", include_in_schema=False)
@public()
async def docs_file(name: Literal["swagger-ui.css", "swagger-ui-bundle.js"]) -> Response:
    """Give a file of Swagger UI."""
    return FileResponse(_swagger_ui() / name, headers={**HEADERS, "Cache-Control": "max-age=3600"})


@cache
def _swagger_ui() -> PathlibPath:
    """The folder in the package that brings them; its code is not imported."""
    return PathlibPath(str(distribution("fastapi-offline").locate_file("fastapi_offline/static")))
