"""Folders that are kept in step with an ontology."""

from __future__ import annotations

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.transport.call import body_of, delete, get, post
from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest


class AsyncFolderMethods(AsyncSending):
    """Folders."""

    async def folders(self) -> FolderList:
        """List the folders that are followed, with what their last scans did."""
        return await self._send(get(FolderList, "folders"))

    async def folder(self, folder_id: str) -> Folder:
        """Read a folder."""
        return await self._send(get(Folder, "folders", folder_id))

    async def add_folder(
        self,
        path: str,
        *,
        ontology: str,
        every_seconds: int | None = None,
        prefix: str | None = None,
        review: bool = False,
        grant: str | None = None,
    ) -> Folder:
        """Follow a folder on the worker's machine; its first scan is asked for.

        It must lie below KG_SYNC__ROOTS; `grant` is what `kg folders add` sends for others.
        """
        body = body_of(NewFolder, locals())
        headers = {"KG-Folder-Grant": grant} if grant else {}
        return await self._send(post(Folder, "folders", json=body, headers=headers))

    async def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Folder:
        """Ask for a scan now."""
        call = post(Folder, "folders", folder_id, "scan", json=body_of(ScanRequest, locals()))
        return await self._send(call)

    async def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> FolderRemoved:
        """Follow a folder no more; its documents stay unless they shall go too."""
        call = delete(FolderRemoved, "folders", folder_id, delete_documents=delete_documents)
        return await self._send(call)
