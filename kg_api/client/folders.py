"""Folders that are kept in step with an ontology."""

from __future__ import annotations

from kg_api.client.call import Call, body_of, delete, get, post
from kg_api.client.sending import request
from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest


class FolderMethods:
    @request
    def folders(self) -> Call[FolderList]:
        """List the folders that are followed, with what their last scans did."""
        return get(FolderList, "folders")

    @request
    def folder(self, folder_id: str) -> Call[Folder]:
        """Read a folder."""
        return get(Folder, "folders", folder_id)

    @request
    def add_folder(
        self,
        path: str,
        *,
        ontology: str,
        every_seconds: int | None = None,
        prefix: str | None = None,
        review: bool = False,
        grant: str | None = None,
    ) -> Call[Folder]:
        """Follow a folder on the worker's machine; its first scan is asked for.

        It must lie below KG_SYNC__ROOTS; `grant` is what `kg folders add` sends for others.
        """
        body = body_of(NewFolder, locals())
        headers = {"KG-Folder-Grant": grant} if grant else {}
        return post(Folder, "folders", json=body, headers=headers)

    @request
    def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Call[Folder]:
        """Ask for a scan now."""
        return post(Folder, "folders", folder_id, "scan", json=body_of(ScanRequest, locals()))

    @request
    def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> Call[FolderRemoved]:
        """Follow a folder no more; its documents stay unless they shall go too."""
        return delete(FolderRemoved, "folders", folder_id, delete_documents=delete_documents)
