"""Whether the store of files is the right one: a folder may not be mounted, a bucket may be another."""

from __future__ import annotations

import threading
import time
import uuid
from typing import NamedTuple

from kg_api.blobs.port import MARKER, BlobStore, marker_of, name_of
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.images.blobs import Blob, known_store, remember_store, some_blobs

LOOKED_FOR = 100
"""Blobs: where a store has the file of one of them, it is theirs."""
REFUSED_SECONDS = 5.0
"""For so long a store that was looked through is not looked through again."""


class _Refusal(NamedTuple):
    marked: str | None
    until: float
    reason: str

    def holds(self, marked: str | None) -> bool:
        return self.marked == marked and time.monotonic() < self.until


class RightStore:
    """A store says which one it is, by a marker; the graph remembers which one it uses. Thread-safe."""

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store
        self._looking = threading.Lock()
        self._refused: _Refusal | None = None

    def require(self) -> None:
        """See that the store is the one; that it is, is never remembered, for it may go at any time.

        One that has no marker is given one where it has files that the graph knows, or where that knows none.

        Raises:
            Unavailable: it is another one or is not there, or nobody can tell.
        """
        marked, known = self._store.identity(), known_store(self._graph)
        if known is None or marked != known:
            with self._looking:
                self._look(marked, known)

    def _look(self, marked: str | None, known: str | None) -> None:
        """Look through the store, unless that was just done, and in vain."""
        if self._refused and self._refused.holds(marked):
            raise Unavailable(self._refused.reason)
        try:
            self._take(marked, known)
        except Unavailable as error:
            self._refused = _Refusal(marked, time.monotonic() + REFUSED_SECONDS, str(error))
            raise

    def _take(self, marked: str | None, known: str | None) -> None:
        """Let the store be the one that the graph uses, where it may be."""
        blobs = some_blobs(self._graph, LOOKED_FOR)
        if blobs and not any(map(self._has, blobs)):
            marked = self._store.identity()  # whoever made the first blobs has marked it before
            known = known or remember_store(self._graph, uuid.uuid4().hex)
            if marked != known:
                raise self._another(known)
            return
        known = known or remember_store(self._graph, marked or uuid.uuid4().hex)
        if marked is None:
            self._store.mark(known)
        elif marked != known:
            raise self._another(known)

    def _has(self, blob: Blob) -> bool:
        return self._store.has(name_of(*blob))

    def _another(self, known: str) -> Unavailable:
        return Unavailable(
            f"{self._store.place} is not there, or is not the one that has the files of this database: mount "
            "it, or correct the setting. If it is the right one all the same, for its files are lost, put "
            f"{marker_of(known)} there as {MARKER}"
        )
