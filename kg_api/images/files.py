"""Files of pictures and documents: the graph says which there are and are used, a store has their bytes."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.blobs.port import BlobStore, gone, key_of, name_of
from kg_api.errors import FileLost
from kg_api.graph.database import Graph
from kg_api.graph.images.blobs import (
    Blob,
    bury_unused,
    dead_blobs,
    find_blob,
    forget_dead,
    forget_holds,
    hold_blobs,
    loose_blobs,
    lose_blob,
    lost_blobs,
    mend_blobs,
)
from kg_api.images.right_store import RightStore


class StoredFiles:
    """Keeps, reads and deletes files by the key of their content. Thread-safe.

    Nothing is asked of the store while a transaction is open.
    """

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store
        self._right = RightStore(graph, store)

    def keep(self, contents: Sequence[bytes]) -> str:
        """Keep files until their document is stored, or an hour; gives the hold, which storing it releases.

        The hold is committed before the first file is written: who collects sees it, or went before. Which
        files were lost is asked when they have been written, for a reader may miss one until then.

        Raises:
            Unavailable: the database or the store does not answer, or it is another store.
        """
        self._right.require()
        by_key = {key_of(content): content for content in contents}
        hold = hold_blobs(self._graph, [*by_key])
        written = {blob for blob, *_ in hold.blobs if self._store.put(name_of(*blob), by_key[blob.key])}
        mended = lost_blobs(self._graph, [*by_key]) | {
            blob.key for blob, used in hold.blobs if used and blob in written
        }
        if mended:
            mend_blobs(self._graph, sorted(mended))
        return hold.hold_id

    def read(self, key: str) -> bytes:
        """The file of a key.

        Raises:
            FileLost: the store is there, and has not this file, or not whole.
            Unavailable: it cannot be read.
        """
        try:
            return self._store.read(self._name(key))
        except FileLost:
            self._right.require()
        lose_blob(self._graph, key)  # before it is read again: who writes it now sees what is to be mended
        return self._store.read(self._name(key))

    def collect(self) -> int:
        """Delete the files that nothing uses or is about to use; says how many.

        Raises:
            KgError: the database or the store does not answer; what is left is deleted the next time.
        """
        forget_holds(self._graph)
        deleted, after = self._delete_all_dead(), ""
        while keys := loose_blobs(self._graph, after):
            bury_unused(self._graph, keys)
            deleted += self._delete_all_dead()
            after = keys[-1]
        return deleted

    def collect_some(self, most: int) -> int:
        """As `collect`, but for so many: somebody waits for it. What was left behind goes first."""
        deleted = self._delete(dead_blobs(self._graph, limit=most))
        bury_unused(self._graph, loose_blobs(self._graph, limit=most))
        return deleted + self._delete(dead_blobs(self._graph, limit=most))

    def sweep(self) -> int:
        """Remove what was being written when its process died; says how many files."""
        return self._store.sweep()

    def _name(self, key: str) -> str:
        blob = find_blob(self._graph, key)
        if blob is None:
            raise gone(key)
        return name_of(*blob)

    def _delete_all_dead(self) -> int:
        """Delete the files of blobs that have gone, those too that somebody else left behind."""
        deleted = 0
        while dead := dead_blobs(self._graph):
            deleted += self._delete(dead)
        return deleted

    def _delete(self, dead: Sequence[Blob]) -> int:
        if not dead:
            return 0
        self._right.require()
        for blob in dead:
            self._store.delete(name_of(*blob))
        self._right.require()  # what is not mounted any more deletes nothing, and says nothing of it
        return forget_dead(self._graph, dead)
