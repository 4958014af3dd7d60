"""FastAPI application of the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from kg_api import __version__
from kg_api.access.audit import AuditWriter
from kg_api.access.keys import KeyCheck
from kg_api.errors import KgError
from kg_api.evaluation.saved import SavedResults
from kg_api.local.processes import Home
from kg_api.settings import Settings
from kg_api.web.api import concepts, documents, embedding, evaluation, operations, search, transfer
from kg_api.web.mcp_mount import PATH, McpMount
from kg_api.web.middleware import RequestLog
from kg_api.web.page_mount import PAGES, ErrorPages, mount
from kg_api.web.shared import openapi, problems
from kg_api.web.shared.health import ProcessHealth, QueueWatch
from kg_api.web.shared.limits import LARGE_AT_ONCE, BodyLimit, OriginCheck, list_allowed_hosts
from kg_api.web.shared.opening import StartUp
from kg_api.web.shared.routes import DirectRoutes, HeadRequests, list_guarded_routes
from kg_api.web.shared.scopes import PublicPaths
from kg_api.web.shared.security import Authenticator, Guard, request_limit, requires_keys, sign_in_limit
from kg_api.web.shared.streams import JobStreams
from kg_api.web.ui import rendering

WITH_FILES = ("/documents", search.PATH, transfer.IMPORT_PATH)
DESCRIPTION = "Find passages of your documents with exact offsets. Errors are problem+json (RFC 9457)."
MAX_LARGE_BODIES = 4
"""Maximum number of large bodies to hold in all processes. Others are rejected."""
SUBJECTS = (
    search.router,
    concepts.concepts,
    concepts.constructive,
    concepts.communities,
    concepts.proposals,
    evaluation.router,
    documents.ingest,
    documents.pages,
    documents.stored,
    documents.review,
    documents.folders,
    transfer.router,
    embedding.spaces,
    embedding.extraction,
    operations.jobs,
    operations.key_routes,
)
ROUTERS = (*(each.router for each in SUBJECTS), operations.health_router)
ROUTES = list_guarded_routes([*ROUTERS, *PAGES, rendering.router])


class Service(FastAPI):
    """Application with its own middleware.

    Requests to `DirectRoutes` do not use the middleware from FastAPI.
    """

    outer: Callable[[ASGIApp], ASGIApp]

    def build_middleware_stack(self) -> ASGIApp:
        return self.outer(super().build_middleware_stack())


def create_app(
    settings: Settings, on_hopeless: Callable[[KgError], None], *, opened: bool = False
) -> FastAPI:
    """Create the application. `on_hopeless` is called if a failure is permanent, such as a newer schema.

    With `opened`, the application accepts requests only when the service is ready. Otherwise `/health`
    answers at once. Each process searches once it is ready, so that the first request need not wait.
    """
    opening = StartUp(settings, on_hopeless)
    home = Home(settings.home)
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

    app = Service(
        title="kg",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # the built-in page loads external scripts. api/operations.py serves an offline page
        redoc_url=None,
        redirect_slashes=False,  # a redirect would use the Host header
        responses=openapi.RESPONSES,
        # telemetry would contain query texts
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    _set_state(app, settings, opening, home)
    for router in ROUTERS:
        app.include_router(router)
    mount(app)
    app.router.routes += [Route(PATH, mcp), Route(f"{PATH}/", mcp)]
    openapi.complete_description(app, ROUTES)
    problems.install(app, ROUTES)

    def get_limit(path: str) -> int:
        has_files = path.startswith(WITH_FILES) or path == "/ui/documents"
        return settings.api.max_document_bytes if has_files else settings.api.max_request_bytes

    door = Authenticator(KeyCheck(lambda: opening.container().graph), home.read_folder_key)
    app.state.audit, app.state.door, app.state.sign_in_limit = writer, door, sign_in_limit()
    pages = settings.api.allowed_web_pages
    large = settings.api.share(MAX_LARGE_BODIES)
    origins = OriginCheck(list_allowed_hosts(settings.api), pages)

    def outer(inner: ASGIApp) -> ASGIApp:
        guarded = Guard(
            HeadRequests(DirectRoutes(inner, ROUTES)),
            door=door,
            rate=request_limit(settings.api.requests_per_minute),
            bodies=BodyLimit(get_limit, large * settings.api.max_document_bytes),
            public=PublicPaths(ROUTES),
            required=app.state.keys_required,
        )
        if pages:
            guarded = CORSMiddleware(guarded, allow_origins=pages, allow_methods=["*"], allow_headers=["*"])
        return ErrorPages(RequestLog(guarded, instance=home.read_instance, origins=origins))

    app.outer = outer
    return app


def _set_state(app: FastAPI, settings: Settings, opening: StartUp, home: Home) -> None:
    app.state.opening = opening
    app.state.queue = QueueWatch(opening)
    app.state.results = SavedResults(home.evaluations)
    app.state.surroundings = ProcessHealth(settings)
    app.state.large_bodies = CapacityLimiter(LARGE_AT_ONCE)
    app.state.streams = JobStreams(settings.api.share(settings.api.event_streams))
    app.state.keys_required = requires_keys(settings.api)
