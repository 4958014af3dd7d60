"""Routes for export and import. `kg export` and `kg import` combine them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from kg_api.schemas.base import OntologyName
from kg_api.schemas.bundles import (
    BlobKey,
    BundleOffer,
    ImportedLines,
    ImportOpened,
    KeptBlob,
    OntologyToImport,
)
from kg_api.transfer.bundles import read_lines
from kg_api.web.shared.dependencies import Ontology, Open
from kg_api.web.shared.limits import require_type
from kg_api.web.shared.routes import Routes

router = Routes("moving")
IMPORT_PATH = "/import"
LINES = "application/x-ndjson"
FILE = "application/octet-stream"


def _describe_file(kind: str) -> dict[str, Any]:
    return {kind: {"schema": {"type": "string", "format": "binary"}}}


def _describe_download(kind: str, about: str) -> dict[str, Any]:
    return {
        "response_class": Response,
        "responses": {200: {"content": _describe_file(kind), "description": about}},
    }


def _describe_sent(kind: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": _describe_file(kind)}}


Key = Annotated[BlobKey, Path(description="SHA-256 of the file, in small hexadecimal letters.")]


@router.get("/export", "admin", "List the ontologies that you can export")
def get_export_offer(
    container: Open,
    ontology: Annotated[list[OntologyName] | None, Query(max_length=100, description="Default: all.")] = None,
) -> BundleOffer:
    """Get ontologies with their configurations, and the data that is not included. 404: unknown ontology."""
    return container.transfer.exports.offer(ontology)


@router.get(
    "/export/ontologies/{ontology}",
    "admin",
    "Export the documents of an ontology",
    **_describe_download(LINES, "Lines of JSON."),
)
def export_documents(
    container: Open,
    ontology: Ontology,
    after: Annotated[str, Query(max_length=1000, description="Last document of the previous page.")] = "",
) -> Response:
    """Get JSON lines for the next documents: 100 sources or one larger document. Empty at the end."""
    return Response(container.transfer.exports.export_documents(ontology, after), media_type=LINES)


@router.get("/export/blobs/{key}", "admin", "Export a file", **_describe_download(FILE, "The file."))
def export_blob(container: Open, key: Key) -> Response:
    return Response(container.transfer.exports.read_blob(key), media_type=FILE)


@router.post(f"{IMPORT_PATH}/ontologies", "admin", "Start to import an ontology")
def open_import(container: Open, given: Annotated[OntologyToImport, Body()]) -> ImportOpened:
    """An existing ontology keeps its configuration. 409: use `replace`. 422: the bundle is too new."""
    return container.transfer.open_import(given)


@router.post(
    IMPORT_PATH + "/ontologies/{ontology}/lines",
    "admin",
    "Import documents into an ontology",
    filtered=False,
    openapi_extra=_describe_sent(LINES),
)
async def import_lines(container: Open, request: Request, ontology: Ontology) -> ImportedLines:
    """Store documents, or passages for stored documents.

    You can repeat this. 422: invalid line, nothing stored.
    """
    require_type(request, LINES)
    content = await request.body()

    def taken() -> ImportedLines:
        return container.transfer.imports.take(ontology, [*read_lines(content)])

    return await run_in_threadpool(taken)


@router.put(IMPORT_PATH + "/blobs/{key}", "admin", "Import a file", openapi_extra=_describe_sent(FILE))
async def import_blob(container: Open, request: Request, key: Key) -> KeptBlob:
    """Keep a file for an hour, or while it is used by a document. 422: the content has another key."""
    require_type(request, FILE)
    content = await request.body()
    return await run_in_threadpool(container.transfer.imports.keep, key, content)
