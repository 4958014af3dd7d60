"""Files of pictures and documents: the graph says which there are and are used, a store has their bytes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from kg_api.blobs.store import MARKER, BlobStore, gone, key_of, marker_of, name_of
from kg_api.errors import FileLost, KgError, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.images import (
    Blob,
    bury_unused,
    dead_blobs,
    find_blob,
    find_image,
    forget_dead,
    forget_holds,
    hold_blobs,
    known_store,
    list_images,
    loose_blobs,
    lose_blob,
    lost_blobs,
    mend_blobs,
    remember_store,
    some_blobs,
)
from kg_api.schemas.images import ImageType, ReadImage, StoredImage
from kg_api.schemas.search import ImagePage

log = structlog.get_logger()

LOOKED_FOR = 100  # blobs, and as many that have gone, whose files the store may have still
REFUSED_SECONDS = 5.0  # for so long a store that was looked through is not looked through again
LOOKED_AT_A_REQUEST = 100  # files, after documents were deleted: a bucket deletes one after the other
THUMBNAIL_TYPE = "image/webp"


class RightStore:
    """Tells whether the store is the right one: a folder may not be mounted, a bucket may be another.

    A store says which one it is, by a marker; the graph remembers which one it uses. Thread-safe.
    """

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store
        self._looking = threading.Lock()
        self._refused: tuple[str | None, float, str] = (None, 0, "")
        """Marker of the store that was refused last, until when that holds, and the reason."""

    def require(self) -> None:
        """See that the store is the one; that it is, is never remembered, for it may go at any time.

        One that has no marker is given one where it has the files that the graph knows, or where that knows
        none.

        Raises:
            Unavailable: it is another one or is not there, or nobody can tell.
        """
        known = known_store(self._graph)
        if known is not None and self._store.identity() == known:
            return
        with self._looking:
            marked = self._store.identity()
            refused, until, reason = self._refused
            if reason and refused == marked and time.monotonic() < until:
                raise Unavailable(reason)
            if expected := self._take(marked):
                reason = (
                    f"{self._store.place} is not there, or is not the one that has the files of this "
                    "database: mount it, or correct the setting. If it is the right one all the same, for "
                    f"its files are lost, put {marker_of(expected)} there as {MARKER}"
                )
                # Remembered is only that it is another one: what did not answer may do so the next time
                self._refused = (marked, time.monotonic() + REFUSED_SECONDS, reason)
                raise Unavailable(reason)

    def _take(self, marked: str | None) -> str | None:
        """Let the store be the one that the graph uses, where it may be; return the marker that it lacks."""
        known = known_store(self._graph)
        sample = some_blobs(self._graph, LOOKED_FOR)
        there = [each for each in sample if self._store.has(name_of(*each.blob))]
        # A file with a generation in its name is theirs for sure. One that is called by its hash alone may be
        # in any store, as any picture may: of these most have to be there. One that has gone says nothing
        # where its file has, too.
        left = sum(not each.dead for each in sample)
        some_are_theirs = any(each.blob.generation for each in there)
        if not sample or some_are_theirs or 2 * sum(not each.dead for each in there) > left:
            known = known or remember_store(self._graph, marked or uuid.uuid4().hex)
            if marked is None:
                self._store.mark(known)
                return None
        else:
            marked = self._store.identity()  # whoever made the first blobs has marked it before
            known = known or remember_store(self._graph, uuid.uuid4().hex)
        return None if marked == known else known


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


@dataclass(frozen=True, slots=True)
class KeptImages:
    """Pictures in the order in which they were given."""

    images: list[StoredImage]
    original: str | None  # the key of the file that they were found in, where that is kept
    hold: str | None  # what keeps all of these files until their document is stored


@dataclass(frozen=True, slots=True)
class ImageKeeper:
    """Writes files into the store before their document is stored; without `files` it only looks."""

    files: StoredFiles | None = None

    def keep(self, images: Sequence[ReadImage], original: bytes | None = None) -> KeptImages:
        """Keep the files of some pictures, and the one that they were found in if it is given.

        Raises:
            Unavailable: the database or the store does not answer; nothing is stored.
        """
        contents = [content for each in images for content in (each.content, each.thumbnail)]
        contents += [] if original is None else [original]
        stored = [
            StoredImage(
                storage_key=key_of(each.content),
                thumbnail_key=key_of(each.thumbnail),
                content_type=each.content_type,
                width=each.width,
                height=each.height,
                bytes=len(each.content),
                perceptual_hash=each.perceptual_hash,
            )
            for each in images
        ]
        hold = self.files.keep(contents) if self.files and contents else None
        return KeptImages(stored, None if original is None else key_of(original), hold)


class ImageFile(NamedTuple):
    """A picture as it is given out."""

    content: bytes
    content_type: ImageType
    name: str  # of its document
    key: str  # its content's hash: the same key is the same content for ever


class ImageService:
    """Gives out what is kept."""

    def __init__(self, graph: Graph, files: StoredFiles) -> None:
        self._graph = graph
        self._files = files

    def page(self, *, ontology: str | None, offset: int, limit: int) -> ImagePage:
        """Some pictures in the order of their documents."""
        return list_images(self._graph, ontology=ontology, offset=offset, limit=limit)

    def file(self, source_id: str) -> ImageFile:
        """The picture itself.

        Raises:
            NotFound: there is no such picture.
            Conflict: several begin like that.
        """
        found = find_image(self._graph, source_id)
        content = self._files.read(found.storage_key)
        return ImageFile(content, found.content_type, found.document, found.storage_key)

    def thumbnail(self, source_id: str) -> ImageFile:
        """It as WebP, of at most 256 pixels a side.

        Raises:
            NotFound, Conflict: as `file` does.
        """
        found = find_image(self._graph, source_id)
        content = self._files.read(found.thumbnail_key)
        return ImageFile(content, THUMBNAIL_TYPE, found.document, found.thumbnail_key)

    def read_blob(self, key: str) -> bytes:
        """The file of a storage key.

        Raises:
            NotFound: it is not there.
            Unavailable: it cannot be read.
        """
        return self._files.read(key)

    def tidy(self) -> int:
        """Delete files that nothing uses, and what processes that died were writing; says how many.

        Raises:
            KgError: the database or the store does not answer; what is left is deleted the next time.
        """
        return self._files.sweep() + self._files.collect()

    def collect_after_delete(self) -> None:
        """Delete some files that nothing uses any more, for a client waits; `tidy` deletes the others.

        What was deleted is deleted all the same, so that a failure is only logged.
        """
        try:
            self._files.collect_some(LOOKED_AT_A_REQUEST)
        except KgError as error:
            log.warning("unused pictures stay until the next clean-up", reason=str(error))
