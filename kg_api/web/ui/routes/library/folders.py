"""The pages of folders that are followed, for administrators."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.models.jobs import FINISHED
from kg_api.models.library.folders import Folder, NewFolder, ScanRequest
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.library import folders
from kg_api.web.routes.library.folders import FolderId
from kg_api.web.ui.links import FOLDERS, below
from kg_api.web.ui.rendering import render, wants_part

FIELD: Final = 10_000
"""Characters of a field of a form, at most."""

Text = Annotated[str, Form(max_length=FIELD)]
router = APIRouter(include_in_schema=False)


@router.get(FOLDERS)
def folders_page(request: Request, container: Open) -> HTMLResponse:
    """Show all folders with what became of their last scans; to htmx the list alone."""
    listed = folders.list_folders(container).folders
    shown: dict[str, Any] = {"folders": listed, "is_scanned": any(map(_is_scanned, listed))}
    if wants_part(request):
        return render("folders/list.html", {**shown, "finished": FINISHED})
    shown |= {"finished": FINISHED, "ontologies": names_of_ontologies(container.graph)}
    shown["roots"] = container.settings.sync.allowed
    return render("folders/page.html", shown)


@router.post(FOLDERS)
def add(
    request: Request,
    container: Open,
    path: Text = "",
    ontology: Text = "",
    *,
    every_seconds: Annotated[int, Form()] = 300,
    prefix: Text = "",
    review: Annotated[bool, Form()] = False,
) -> Response:
    """Follow a folder."""
    asked = {"path": path, "ontology": ontology, "prefix": prefix}
    new = valid(NewFolder, {**asked, "every_seconds": every_seconds, "review": review})
    return _to_folder(request, folders.add_folder(container, new))


@router.get(FOLDERS + "/{folder_id}")
def folder_page(request: Request, container: Open, folder_id: FolderId) -> HTMLResponse:
    """Show a folder and what its last scan found; to htmx the findings alone."""
    found = folders.get_folder(container, folder_id)
    shown = {"folder": found, "finished": FINISHED, "is_scanned": _is_scanned(found)}
    return render("folders/found.html" if wants_part(request) else "folders/one.html", shown)


@router.get(FOLDERS + "/{folder_id}/scan")
def emptied_page(container: Open, folder_id: FolderId) -> Response:
    """Show what would go with a folder that looks cleared, before a scan believes that."""
    found = folders.get_folder(container, folder_id)
    if not found.looks_emptied:
        return RedirectResponse(below(FOLDERS, folder_id), 303)
    return render("folders/emptied.html", {"folder": found})


@router.post(FOLDERS + "/{folder_id}/scan")
def scan(
    request: Request,
    container: Open,
    folder_id: FolderId,
    *,
    allow_empty: Annotated[bool, Form()] = False,
) -> Response:
    """Ask for a scan now."""
    return _to_folder(
        request, folders.scan_folder(container, folder_id, ScanRequest(allow_empty=allow_empty))
    )


@router.get(FOLDERS + "/{folder_id}/remove")
def removal_page(container: Open, folder_id: FolderId) -> HTMLResponse:
    """Show what would become of a folder's documents, before it is removed."""
    return render("folders/remove.html", {"folder": folders.get_folder(container, folder_id)})


@router.post(FOLDERS + "/{folder_id}/remove")
def remove(
    request: Request,
    container: Open,
    folder_id: FolderId,
    *,
    delete_documents: Annotated[bool, Form()] = False,
) -> Response:
    """Follow a folder no more; its documents go with it only where that is said."""
    note_outcome(request, folders.remove_folder(container, folder_id, delete_documents=delete_documents))
    return RedirectResponse(FOLDERS, 303)


def _is_scanned(folder: Folder) -> bool:
    return folder.state is not None and folder.state not in FINISHED


def _to_folder(request: Request, folder: Folder) -> Response:
    note_outcome(request, folder)
    return RedirectResponse(below(FOLDERS, folder.folder_id), 303)
