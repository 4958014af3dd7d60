"""Folders: registered, listed, scanned when asked for, removed."""

from __future__ import annotations

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.documents import folders
from kg_api.graph.documents.deleting import delete_document
from kg_api.models.library.folders import Folder, FolderList, FolderRemoved, NewFolder
from kg_api.sync.access import FolderAccess


class FolderService:
    """Says which folders are followed. Workers read them; this never does."""

    def __init__(self, graph: Graph, access: FolderAccess) -> None:
        self._graph = graph
        self._access = access

    def add(self, new: NewFolder, grant: str | None = None) -> Folder:
        """Register a folder and ask for its first scan.

        Args:
            new: the folder.
            grant: proof that this home's own user asks for it; what is none is as good as nothing.

        Raises:
            InvalidInput: it lies outside of KG_SYNC__ROOTS and nothing is granted, or is never followed.
            Conflict: it overlaps with one that goes to the same ontology.
        """
        granted = self._access.is_granted(new.path, new.ontology, grant)
        if objection := self._access.objection(new.path, granted=granted):
            raise InvalidInput(objection)
        kept = grant if granted else None
        return folders.find_folder(self._graph, folders.register(self._graph, new, grant=kept))

    def all(self) -> FolderList:
        """Give all folders with what became of their last scans."""
        return FolderList(folders=folders.list_folders(self._graph))

    def get(self, folder_id: str) -> Folder:
        """Give one folder.

        Raises:
            NotFound: there is none by that id.
        """
        return folders.find_folder(self._graph, folder_id)

    def scan(self, folder_id: str, *, allow_empty: bool) -> Folder:
        """Ask for a scan now.

        Raises:
            NotFound: there is no folder by that id.
        """
        folders.request_scan(self._graph, folder_id, allow_empty=allow_empty)
        return folders.find_folder(self._graph, folder_id)

    def remove(self, folder_id: str, *, delete_documents: bool) -> FolderRemoved:
        """Follow a folder no more; its documents stay unless they shall go too.

        What is interrupted can be repeated: the registration goes last.

        Raises:
            NotFound: there is no folder by that id.
        """
        found = folders.find_folder(self._graph, folder_id)
        folders.begin_removal(self._graph, folder_id)
        documents = [identity for identity, _ in folders.documents_of(self._graph, folder_id)]
        deleted = [delete_document(self._graph, each) for each in documents if delete_documents]
        folders.remove(self._graph, folder_id)
        return FolderRemoved(
            folder_id=folder_id,
            path=found.path,
            ontology=found.ontology,
            kept_documents=0 if delete_documents else len(documents),
            deleted_documents=sum(each.documents for each in deleted),
            deleted_sources=sum(each.sources for each in deleted),
        )
