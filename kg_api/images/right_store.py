"""Whether the store of files is the right one: a folder may not be mounted, a bucket may be another."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from kg_api.blobs.port import MARKER, BlobStore, marker_of, name_of
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.images.blobs import SampledBlob, known_store, remember_store, some_blobs

LOOKED_FOR = 100
"""Blobs, and as many that have gone, whose files the store may have still."""
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

        One that has no marker is given one where it has the files that the graph knows, or where that knows
        none.

        Raises:
            Unavailable: it is another one or is not there, or nobody can tell.
        """
        if not self._is_known():
            with self._looking:
                self._look()

    def _is_known(self) -> bool:
        known = known_store(self._graph)
        return known is not None and self._store.identity() == known

    def _look(self) -> None:
        """Look through the store, unless that was just done, and in vain.

        Remembered is only that it is another one: what did not answer may do so the next time.
        """
        marked = self._store.identity()
        if self._refused and self._refused.holds(marked):
            raise Unavailable(self._refused.reason)
        if expected := self._take(marked):
            reason = self._another(expected)
            self._refused = _Refusal(marked, time.monotonic() + REFUSED_SECONDS, reason)
            raise Unavailable(reason)

    def _take(self, marked: str | None) -> str | None:
        """Let the store be the one that the graph uses, where it may be; gives the marker that it lacks."""
        known = known_store(self._graph)
        if self._is_theirs(some_blobs(self._graph, LOOKED_FOR)):
            known = known or remember_store(self._graph, marked or uuid.uuid4().hex)
            if marked is None:
                self._store.mark(known)
                return None
        else:
            marked = self._store.identity()  # whoever made the first blobs has marked it before
            known = known or remember_store(self._graph, uuid.uuid4().hex)
        return None if marked == known else known

    def _is_theirs(self, sample: Sequence[SampledBlob]) -> bool:
        """Whether the store has the files of some blobs, or nobody knows of any.

        A file with a generation in its name is theirs for sure. One that is called by its hash alone may be
        in any store, as any picture may: of these most have to be there. One that has gone says nothing where
        its file has, too.
        """
        there = [each for each in sample if self._store.has(name_of(*each.blob))]
        if not sample or any(each.blob.generation for each in there):
            return True
        left = sum(not each.dead for each in sample)
        return 2 * sum(not each.dead for each in there) > left

    def _another(self, known: str) -> str:
        return (
            f"{self._store.place} is not there, or is not the one that has the files of this database: mount "
            "it, or correct the setting. If it is the right one all the same, for its files are lost, put "
            f"{marker_of(known)} there as {MARKER}"
        )
