"""What this is and where to go, and the API as a page. Nothing of them comes from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse

from kg_api import __version__
from kg_api.models.health import Start
from kg_api.web.forwarded import below_prefix
from kg_api.web.routes.operation.health import shown_readiness
from kg_api.web.ui.links import SEARCH

router = APIRouter(tags=["health"])

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
PAGES = Path(__file__).parents[2] / "pages"
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


@router.head("/", include_in_schema=False)
@router.get("/", summary="Service information", response_model=Start, responses=FOR_BROWSERS)
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


@router.head("/docs", include_in_schema=False)
@router.get("/docs", include_in_schema=False)
async def docs() -> Response:
    """Give the page that shows the API."""
    return FileResponse(PAGES / "docs.html", headers=HEADERS)


@router.get("/docs/start.js", include_in_schema=False)
async def docs_script() -> Response:
    """Give what starts Swagger UI: in a file, for scripts within the page are forbidden."""
    return FileResponse(PAGES / "start.js", headers=HEADERS)


@router.get("/docs/{name}", include_in_schema=False)
async def docs_file(name: Literal["swagger-ui.css", "swagger-ui-bundle.js"]) -> Response:
    """Give a file of Swagger UI."""
    return FileResponse(_swagger_ui() / name, headers={**HEADERS, "Cache-Control": "max-age=3600"})


@cache
def _swagger_ui() -> Path:
    """The folder in the package that brings them; its code is not imported."""
    return Path(str(distribution("fastapi-offline").locate_file("fastapi_offline/static")))
