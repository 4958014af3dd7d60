# Written by scripts/unasync.py from ../asynchronous/folders.py; change that, not this.
"""Folders that are kept in step with an ontology."""

from __future__ import annotations

from kg_api.client.call import Call, body_of, params_of, path_of
from kg_api.client.sync.sending import Sending
from kg_api.models.library.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest


class FolderMethods(Sending):
    """Folders."""

    def folders(self) -> FolderList:
        """List the folders that are followed, with what their last scans did."""
        return self._send(Call("GET", "/folders", FolderList))

    def folder(self, folder_id: str) -> Folder:
        """Read a folder."""
        return self._send(Call("GET", path_of("folders", folder_id), Folder))

    def add_folder(
        self,
        path: str,
        *,
        ontology: str,
        every_seconds: int | None = None,
        prefix: str | None = None,
        grant: str | None = None,
    ) -> Folder:
        """Follow a folder on the worker's machine; its first scan is asked for.

        It must lie below KG_SYNC__ROOTS; `grant` is what `kg folders add` sends for others.
        """
        body = body_of(NewFolder, path=path, ontology=ontology, every_seconds=every_seconds, prefix=prefix)
        headers = {"KG-Folder-Grant": grant} if grant else {}
        return self._send(Call("POST", "/folders", Folder, json=body, headers=headers))

    def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Folder:
        """Ask for a scan now."""
        body = body_of(ScanRequest, allow_empty=allow_empty)
        return self._send(Call("POST", path_of("folders", folder_id, "scan"), Folder, json=body))

    def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> FolderRemoved:
        """Follow a folder no more; its documents stay unless they shall go too."""
        path, params = path_of("folders", folder_id), params_of(delete_documents=delete_documents)
        return self._send(Call("DELETE", path, FolderRemoved, params=params))
