"""Whether the store of files is the right one: a folder may not be mounted, a bucket may be another."""

from __future__ import annotations

import uuid

from kg_api.blobs.port import MARKER, BlobStore, marker_of, name_of
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.images.blobs import known_store, remember_store, some_blobs

LOOKED_FOR = 100
"""Blobs: where a store has the file of one of them, it is theirs."""


class RightStore:
    """A store says which one it is, by a marker; the graph remembers which one it uses. Thread-safe."""

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store

    def require(self) -> None:
        """See that the store is the one; nothing is remembered, for it may go at any time.

        One that has no marker is given one where it has files that the graph knows, or where that knows none.

        Raises:
            Unavailable: it is another one or is not there, or nobody can tell.
        """
        marked, known = self._store.identity(), known_store(self._graph)
        if known is None or marked != known:
            self._take(marked)

    def _take(self, marked: str | None) -> None:
        """Let the store be the one that the graph uses, where it may be."""
        if not self._may_be_right():
            marked = self._store.identity()  # whoever made the first blobs has marked it before
            known = remember_store(self._graph, uuid.uuid4().hex)
            if marked != known:
                raise self._another(known)
            return
        known = remember_store(self._graph, marked or uuid.uuid4().hex)
        if marked is None:
            self._store.mark(known)
        elif marked != known:
            raise self._another(known)

    def _may_be_right(self) -> bool:
        blobs = some_blobs(self._graph, LOOKED_FOR)
        return not blobs or any(self._store.has(name_of(*each)) for each in blobs)

    def _another(self, known: str) -> Unavailable:
        return Unavailable(
            f"{self._store.place} is not there, or is not the one that has the files of this database: mount "
            "it, or correct the setting. If it is the right one all the same, for its files are lost, put "
            f"{marker_of(known)} there as {MARKER}"
        )
