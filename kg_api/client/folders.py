"""Client methods for synced folders."""

from __future__ import annotations

from kg_api.client.call import Call, build_body, delete, get, post
from kg_api.client.sending import request
from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest


class FolderMethods:
    @request
    def folders(self) -> Call[FolderList]:
        """List the synced folders, to see the results from the last scans."""
        return get(FolderList, "folders")

    @request
    def folder(self, folder_id: str) -> Call[Folder]:
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
        """Sync a folder on the worker's machine, and request the first scan.

        The folder must be below KG_SYNC__ROOTS. `kg folders add` sends a `grant` for other folders.
        """
        body = build_body(NewFolder, locals())
        headers = {"KG-Folder-Grant": grant} if grant else {}
        return post(Folder, "folders", json=body, headers=headers)

    @request
    def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Call[Folder]:
        return post(Folder, "folders", folder_id, "scan", json=build_body(ScanRequest, locals()))

    @request
    def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> Call[FolderRemoved]:
        """Stop syncing a folder. To delete the documents, use `delete_documents`."""
        return delete(FolderRemoved, "folders", folder_id, delete_documents=delete_documents)
