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
from kg_api.access.keys import KeyCheck
from kg_api.errors import KgError
from kg_api.evaluation.measuring import Measuring
from kg_api.evaluation.saved import SavedResults
from kg_api.local.processes import Home
from kg_api.settings import Settings
from kg_api.web.api import concepts, documents, embedding, evaluation, operations, search, transfer
from kg_api.web.mcp_mount import PATH, McpMount
from kg_api.web.middleware import RequestLog
from kg_api.web.page_mount import PAGES, WITHOUT_KEY, ErrorPages, mount
from kg_api.web.shared import openapi, problems
from kg_api.web.shared.dependencies import check_body, check_parameters
from kg_api.web.shared.health import ModelHealth, QueueWatch, Surroundings
from kg_api.web.shared.limits import LARGE_AT_ONCE, BodyLimit, HomeCheck, OriginCheck, allowed_hosts
from kg_api.web.shared.opening import Opening
from kg_api.web.shared.security import (
    AccessControl,
    AuditLog,
    Doorkeeper,
    OwnAnswers,
    RequestRate,
    SignInRate,
    TokenRate,
    check_scope,
    keys_required,
)
from kg_api.web.shared.streams import Streams
from kg_api.web.ui.links import DOCUMENTS
from kg_api.web.ui.routes.embedding import BuildCounts

WITH_FILES = ("/documents", search.PATH, transfer.IMPORT_PATH)
"""Paths that take a file."""
DESCRIPTION = (
    "Documents go in; passages come back with their exact place. Errors are problem+json (RFC 9457)."
)
MAX_LARGE_BODIES = 4
"""So many bodies of the largest size all processes hold at once; the next one is refused for the moment."""
READING = (
    search.search_router,
    search.pictures_router,
    search.image_search_router,
    search.passage_map_router,
    concepts.concepts_router,
    concepts.relationships_router,
    concepts.constructive_router,
    concepts.communities_router,
    concepts.proposals_router,
    search.answering_router,
    evaluation.judgements_router,
)
WITH_PARAMETERS = (
    *READING,
    documents.ingest_router,
    documents.pages_router,
    documents.documents_router,
    documents.images_router,
    documents.review_router,
    documents.synonyms_router,
    documents.language_router,
    transfer.router,
    documents.folders_router,
    embedding.configuration_router,
    embedding.extraction_router,
    embedding.switching_router,
    evaluation.results_router,
    operations.jobs_router,
    operations.keys_router,
    operations.audit_router,
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

    app = FastAPI(
        title="kg",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere; api/operations.py has one that works offline
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
    _set_state(app, settings, opening, home)
    checks = [Depends(check_scope), Depends(check_parameters), Depends(check_body)]
    for router in WITH_PARAMETERS:
        app.include_router(router, dependencies=checks)
    app.include_router(operations.start_router)
    app.include_router(operations.health_router)
    app.include_router(operations.metrics_router, dependencies=[Depends(check_scope)])
    mount(app, [Depends(check_scope)])
    app.router.routes += [Route(PATH, mcp), Route(f"{PATH}/", mcp)]
    openapi.complete_description(app)
    plain = (operations.start_router, operations.health_router, operations.metrics_router)
    routers = (*WITH_PARAMETERS, *plain, *PAGES, *WITHOUT_KEY)
    problems.install(app, [route for router in routers for route in router.routes])

    def limit_of(path: str) -> int:
        api = settings.api
        return (
            api.max_document_bytes
            if path.startswith(WITH_FILES) or path == DOCUMENTS
            else api.max_request_bytes
        )

    together = settings.api.share(MAX_LARGE_BODIES) * settings.api.max_document_bytes
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


def _set_state(app: FastAPI, settings: Settings, opening: Opening, home: Home) -> None:
    """What routes find at `request.app.state`."""
    app.state.opening = opening
    app.state.model_health = ModelHealth()
    app.state.queue = QueueWatch(opening)
    app.state.results = SavedResults(home.evaluations)
    app.state.measuring = Measuring(home.evaluations)
    app.state.surroundings = Surroundings(settings)
    app.state.large_bodies = CapacityLimiter(LARGE_AT_ONCE)
    app.state.streams = Streams(settings.api.share(settings.api.event_streams))
    app.state.build_counts = BuildCounts()
    app.state.keys_required = keys_required(settings.api)
