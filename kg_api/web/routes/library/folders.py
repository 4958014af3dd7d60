"""Folders that are kept in step with an ontology."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Header, Path, Query
from fastapi.openapi.models import Example

from kg_api.models.base import NodeId
from kg_api.models.library.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["folders"], route_class=StrictRoute)

FolderId = Annotated[NodeId, Path(description="Id of a folder.")]
Grant = Annotated[
    str | None,
    Header(
        alias="KG-Folder-Grant",
        pattern="^[0-9a-f]{64}$",
        description="Sent by `kg folders add` on the machine and in the home of the service: it can make one "
        "for a folder that lies outside of KG_SYNC__ROOTS, as nobody else can.",
    ),
]
FOLDERS: dict[str, Example] = {
    "every five minutes": {"value": {"path": "/home/me/notes", "ontology": "notes"}},
    "every hour": {
        "value": {"path": "/srv/papers", "ontology": "papers", "every_seconds": 3600, "prefix": "papers/"}
    },
}
SCANS: dict[str, Example] = {
    "a scan": {"value": {}},
    "of a folder that was cleared on purpose": {"value": {"allow_empty": True}},
}


@router.get("/folders", summary="List synchronised folders")
def list_folders(container: Open) -> FolderList:
    """Give every folder with what its last scan did, or why it could not be done."""
    return container.folders.all()


@router.post("/folders", status_code=202, summary="Synchronise a folder")
def add_folder(
    container: Open,
    folder: Annotated[NewFolder, Body(openapi_examples=FOLDERS)],
    grant: Grant = None,
) -> Folder:
    """Register a folder on the worker's machine; its first scan is asked for.

    Files added, changed or removed there are synchronised from now on. A folder that is registered for the
    ontology already, or overlaps one that is, is a conflict. It must lie below KG_SYNC__ROOTS; hidden
    folders, KG_HOME and KG_CACHE are never followed.
    """
    return container.folders.add(folder, grant)


@router.get("/folders/{folder_id}", summary="Get a folder")
def get_folder(container: Open, folder_id: FolderId) -> Folder:
    """Give a folder with what its last scan did, or why it could not be done."""
    return container.folders.get(folder_id)


@router.post("/folders/{folder_id}/scan", status_code=202, summary="Scan a folder now")
def scan_folder(
    container: Open, folder_id: FolderId, scan: Annotated[ScanRequest, Body(openapi_examples=SCANS)]
) -> Folder:
    """Request a scan; a folder has at most one at a time. `job_id` is its job."""
    return container.folders.scan(folder_id, allow_empty=scan.allow_empty)


@router.delete("/folders/{folder_id}", summary="Stop synchronising a folder")
def remove_folder(
    container: Open,
    folder_id: FolderId,
    *,
    delete_documents: Annotated[
        bool, Query(description="Also delete the documents that came from the folder.")
    ] = False,
) -> FolderRemoved:
    """Remove the registration. Its documents stay unchanged, unless `delete_documents` is set."""
    return container.folders.remove(folder_id, delete_documents=delete_documents)
