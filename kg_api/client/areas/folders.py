"""Folders that are kept in step with an ontology."""

from __future__ import annotations

from typing import Any

from kg_api.client.call import Call, drop_unset, params_of, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.library.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest


def folders() -> Call[FolderList]:
    """List folders."""
    return Call("GET", "/folders", FolderList)


def folder(folder_id: str) -> Call[Folder]:
    """Read a folder."""
    return Call("GET", path_of("folders", folder_id), Folder)


def add_folder(*, grant: str | None = None, **new: Any) -> Call[Folder]:
    """Follow a folder; `new` are the fields of NewFolder, None for unset."""
    body = valid(NewFolder, drop_unset(new)).model_dump(exclude_unset=True)
    headers = {"KG-Folder-Grant": grant} if grant else {}
    return Call("POST", "/folders", Folder, json=body, headers=headers)


def scan_folder(folder_id: str, *, allow_empty: bool) -> Call[Folder]:
    """Scan a folder."""
    body = ScanRequest(allow_empty=allow_empty).model_dump()
    return Call("POST", path_of("folders", folder_id, "scan"), Folder, json=body)


def remove_folder(folder_id: str, *, delete_documents: bool) -> Call[FolderRemoved]:
    """Follow a folder no more."""
    params = params_of(delete_documents=delete_documents)
    return Call("DELETE", path_of("folders", folder_id), FolderRemoved, params=params)


class FoldersMethods(Sending):
    """Methods of the synchronous client."""

    def folders(self) -> FolderList:
        """List the folders that are followed, with what their last scans did."""
        return self._send(folders())

    def folder(self, folder_id: str) -> Folder:
        """Read a folder."""
        return self._send(folder(folder_id))

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
        call = add_folder(
            grant=grant, path=path, ontology=ontology, every_seconds=every_seconds, prefix=prefix
        )
        return self._send(call)

    def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Folder:
        """Ask for a scan now."""
        return self._send(scan_folder(folder_id, allow_empty=allow_empty))

    def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> FolderRemoved:
        """Follow a folder no more; its documents stay unless they shall go too."""
        return self._send(remove_folder(folder_id, delete_documents=delete_documents))


class AsyncFoldersMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def folders(self) -> FolderList:
        """List the folders that are followed, with what their last scans did."""
        return await self._send(folders())

    async def folder(self, folder_id: str) -> Folder:
        """Read a folder."""
        return await self._send(folder(folder_id))

    async def add_folder(
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
        call = add_folder(
            grant=grant, path=path, ontology=ontology, every_seconds=every_seconds, prefix=prefix
        )
        return await self._send(call)

    async def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Folder:
        """Ask for a scan now."""
        return await self._send(scan_folder(folder_id, allow_empty=allow_empty))

    async def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> FolderRemoved:
        """Follow a folder no more; its documents stay unless they shall go too."""
        return await self._send(remove_folder(folder_id, delete_documents=delete_documents))
