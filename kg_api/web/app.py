"""The REST service, put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from kg_api import __version__
from kg_api.access.audit import AuditWriter
from kg_api.access.check import KeyCheck
from kg_api.errors import KgError
from kg_api.evaluate.measuring import Measuring
from kg_api.evaluate.saved.folder import SavedResults
from kg_api.managed.home import Home
from kg_api.settings import Settings
from kg_api.web import openapi, problems
from kg_api.web.access.audit import AuditLog
from kg_api.web.access.caching import OwnAnswers
from kg_api.web.access.door import AccessControl, Doorkeeper, check_scope
from kg_api.web.access.pace import RequestRate, SignInRate, TokenRate
from kg_api.web.access.required import keys_required
from kg_api.web.dependencies import check_body, check_parameters
from kg_api.web.health.models import ModelHealth
from kg_api.web.health.queue import QueueWatch
from kg_api.web.health.surroundings import Surroundings
from kg_api.web.limits.body_size import BodyLimit
from kg_api.web.limits.home_check import HomeCheck
from kg_api.web.limits.origin import OriginCheck, allowed_hosts
from kg_api.web.limits.strict_json import LARGE_AT_ONCE
from kg_api.web.mcp_mount import PATH, McpMount
from kg_api.web.middleware import RequestLog
from kg_api.web.once_more import OnceMore
from kg_api.web.opening import Opening
from kg_api.web.routes.embedding import configuration, extraction, switching
from kg_api.web.routes.evaluation import judgements, results
from kg_api.web.routes.library import (
    documents,
    folders,
    images,
    ingest,
    language,
    moving,
    pages,
    review,
    synonyms,
)
from kg_api.web.routes.operation import audit, health, jobs, keys, metrics, start
from kg_api.web.routes.queries import (
    answering,
    communities,
    concepts,
    constructive,
    image_search,
    passage_map,
    pictures,
    proposals,
    relationships,
    search,
)
from kg_api.web.streams import Streams
from kg_api.web.ui.links import DOCUMENTS
from kg_api.web.ui.mount import PAGES, WITHOUT_KEY, mount
from kg_api.web.ui.problems import ErrorPages
from kg_api.web.ui.routes.embedding.progress import BuildCounts

WITH_FILES = ("/documents", image_search.PATH, moving.IMPORT_PATH)
"""Paths that take a file."""
DESCRIPTION = (
    "Documents go in; passages come back with their exact place. Errors are problem+json (RFC 9457)."
)
MAX_LARGE_BODIES = 4
"""So many bodies of the largest size all processes hold at once; the next one is refused for the moment."""
READING = (
    *(search, pictures, image_search, passage_map, concepts, relationships, constructive),
    *(communities, proposals, answering, judgements),
)
WITH_PARAMETERS = (
    *READING,
    ingest,
    pages,
    documents,
    images,
    review,
    synonyms,
    language,
    moving,
    folders,
    configuration,
    extraction,
    switching,
    results,
    jobs,
    keys,
    audit,
)
"""Their query parameters are checked."""


def create_app(
    settings: Settings, on_hopeless: Callable[[KgError], None], *, opened: bool = False
) -> FastAPI:
    """Make the app.

    Args:
        settings: what to open.
        on_hopeless: called when the service can never become ready, such as with a newer schema.
        opened: whether it answers only when it can answer everything; else `/health` does from the start.
    """
    opening = Opening(settings, on_hopeless)
    mcp = McpMount(opening, settings.api)
    writer = AuditWriter(lambda: opening.container().graph)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        opening.start()
        writer.start()
        if opened:
            await run_in_threadpool(opening.wait)
        async with mcp.running():
            yield
        await run_in_threadpool(writer.close)
        await run_in_threadpool(opening.close)

    app = FastAPI(
        title="kg",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere; routes/start.py has one that works offline
        redoc_url=None,
        redirect_slashes=False,  # a redirect would go wherever the Host header says
        responses=openapi.RESPONSES,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "auto_configure": False,
        },  # it tells texts
    )
    app.state.opening = opening
    app.state.model_health = ModelHealth()
    app.state.queue = QueueWatch(opening)
    home = Home(settings.home)
    app.state.results = SavedResults(home.evaluations)
    app.state.measuring = Measuring(home.evaluations)
    app.state.surroundings = Surroundings(settings)
    app.state.large_bodies = CapacityLimiter(LARGE_AT_ONCE)
    app.state.streams = Streams(settings.api.share(settings.api.event_streams))
    app.state.build_counts = BuildCounts()
    app.state.keys_required = keys_required(settings.api)
    checks = [Depends(check_scope), Depends(check_parameters), Depends(check_body)]
    for module in WITH_PARAMETERS:
        app.include_router(module.router, dependencies=checks)
    for module in (start, health):
        app.include_router(module.router)
    app.include_router(metrics.router, dependencies=[Depends(check_scope)])
    mount(app, [Depends(check_scope)])
    app.router.routes += [Route(PATH, mcp), Route(f"{PATH}/", mcp)]
    openapi.complete_description(app)
    modules = (*WITH_PARAMETERS, start, health, metrics, *PAGES, *WITHOUT_KEY)
    problems.install(app, [route for module in modules for route in module.router.routes])

    def limit_of(path: str) -> int:
        api = settings.api
        return (
            api.max_document_bytes
            if path.startswith(WITH_FILES) or path == DOCUMENTS
            else api.max_request_bytes
        )

    together = settings.api.share(MAX_LARGE_BODIES) * settings.api.max_document_bytes
    app.add_middleware(OnceMore)
    app.add_middleware(BodyLimit, limit_of=limit_of, together=together)
    app.add_middleware(AuditLog, writer=writer)
    door = Doorkeeper(KeyCheck(lambda: opening.container().graph), home.folder_key)
    app.state.door, app.state.sign_in_rate = door, SignInRate()
    app.add_middleware(
        AccessControl,
        door=door,
        rate=RequestRate(settings.api.requests_per_minute),
        tokens=TokenRate(settings.api.provider_tokens_per_day),
        required=app.state.keys_required,
    )
    app.add_middleware(OwnAnswers)
    if pages := settings.api.allowed_web_pages:
        app.add_middleware(CORSMiddleware, allow_origins=pages, allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(OriginCheck, hosts=allowed_hosts(settings.api), origins=pages)
    app.add_middleware(RequestLog)
    app.add_middleware(ErrorPages)
    app.add_middleware(HomeCheck, instance=home.instance)
    return app
