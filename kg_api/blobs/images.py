"""Stored files of images and documents. The graph records their use, and a blob store has the bytes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from kg_api.blobs.store import MARKER, BlobStore, compute_blob_key, format_store_marker, report_lost_file
from kg_api.errors import FileLost, KgError, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.images import (
    delete_dead_records,
    delete_expired_holds,
    find_blob_name,
    find_image,
    get_known_store,
    hold_blobs,
    list_dead_blobs,
    list_unused_blobs,
    mark_blob_lost,
    mark_blobs_restored,
    mark_unused_blobs_dead,
    remember_store,
    sample_blob_names,
)
from kg_api.schemas.images import ImageType, ReadImage, StoredImage

log = structlog.get_logger()

LOOKED_FOR = 100  # blobs, and as many deleted ones, to search for in the store
REFUSED_SECONDS = 5.0  # time for which kg caches the rejection of a store
LOOKED_AT_A_REQUEST = 100  # files deleted after a deletion of documents (in S3, one request each)
THUMBNAIL_TYPE = "image/webp"


class StoreCheck:
    """Check that a blob store belongs to this database.

    A folder may be unmounted, or a bucket may be another one. The store contains a marker, and the graph
    remembers the marker. Thread-safe.
    """

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store
        self._looking = threading.Lock()
        self._refused = (0.0, "")  # end of the cached rejection, and reason

    def require(self) -> None:
        """Check the store. kg caches only rejections, because a store can disappear at any time.

        A store without a marker gets one if it has the files that the graph knows, or if the graph knows
        none.
        """
        known = get_known_store(self._graph)
        if known is not None and self._store.identity() == known:
            return
        with self._looking:
            until, reason = self._refused
            if time.monotonic() < until:
                raise Unavailable(reason)
            if expected := self._take(self._store.identity()):
                reason = (
                    f"{self._store.place} is missing or does not contain the files of this database. "
                    "Mount the storage, or correct the setting. If it is the correct storage and its "
                    f"files are lost, write {format_store_marker(expected)} to {MARKER} there"
                )
                # Cache only a wrong store. A store that did not answer may answer the next time.
                self._refused = (time.monotonic() + REFUSED_SECONDS, reason)
                raise Unavailable(reason)

    def _take(self, marked: str | None) -> str | None:
        """Adopt the store if possible, or return the missing marker."""
        known = get_known_store(self._graph)
        sample = sample_blob_names(self._graph, LOOKED_FOR)
        if not sample or any(map(self._store.has, sample)):  # no other database has files of these names
            known = known or remember_store(self._graph, marked or uuid.uuid4().hex)
            if marked is None:
                self._store.mark(known)
                return None
        else:
            marked = self._store.identity()  # the writer of the first blobs marked the store earlier
            known = known or remember_store(self._graph, uuid.uuid4().hex)
        return None if marked == known else known


class ImageFile(NamedTuple):
    content: bytes
    content_type: ImageType
    name: str  # of the document
    key: str  # hash of the content, so a response can be cached forever


class StoredFiles:
    """Files by the key of their content. Thread-safe. No transaction is open during calls of the store."""

    def __init__(self, graph: Graph, store: BlobStore) -> None:
        self._graph = graph
        self._store = store
        self._right = StoreCheck(graph, store)

    def keep(self, contents: Sequence[bytes]) -> str:
        """Store files until their document is stored, or for an hour. Return the id of the hold.

        kg commits the hold before it writes the first file, so `collect` either sees the hold or ran earlier.
        kg queries lost files after writing, because a reader may report a file as lost until then.
        """
        self._right.require()
        by_key = {compute_blob_key(content): content for content in contents}
        hold = hold_blobs(self._graph, [*by_key])
        written = {each.key for each in hold.blobs if self._store.put(each.name, by_key[each.key])}
        mended = {row["key"] for row in self._graph.read("blobs/lost", keys=sorted([*by_key]))}
        if mended := mended | {each.key for each in hold.blobs if each.used and each.key in written}:
            mark_blobs_restored(self._graph, sorted(mended))
        return hold.hold_id

    def has_all(self, names: Sequence[str]) -> bool:
        """Check that files exist. A damaged file counts, until a reader reports it."""
        if names:
            self._right.require()
        return all(map(self._store.has, names))

    def read(self, key: str) -> bytes:
        """Read a file. Raise FileLost (missing or damaged) or Unavailable (no answer, or another store)."""
        try:
            return self._store.read(self._name(key))
        except FileLost:
            self._right.require()
        mark_blob_lost(self._graph, key)  # first, so that a concurrent writer sees the lost file
        return self._store.read(self._name(key))

    def collect(self) -> int:
        """Delete files without use now or soon. Return their number. After a KgError, run this again."""
        delete_expired_holds(self._graph)
        deleted, after = self._delete_all_dead(), ""
        while keys := list_unused_blobs(self._graph, after):
            mark_unused_blobs_dead(self._graph, keys)
            deleted += self._delete_all_dead()
            after = keys[-1]
        return deleted

    def collect_some(self, most: int) -> int:
        """Collect at most `most` files for a waiting request, starting with files that earlier runs left."""
        deleted = self._delete(list_dead_blobs(self._graph, limit=most))
        mark_unused_blobs_dead(self._graph, list_unused_blobs(self._graph, limit=most))
        return deleted + self._delete(list_dead_blobs(self._graph, limit=most))

    def get_image(self, source_id: str) -> ImageFile:
        """Return the full image. Raise NotFound, or Conflict if several ids start with `source_id`."""
        found = find_image(self._graph, source_id)
        content = self.read(found.storage_key)
        return ImageFile(content, found.content_type, found.document, found.storage_key)

    def get_thumbnail(self, source_id: str) -> ImageFile:
        """Return the thumbnail, a WebP image of at most 256 x 256 pixels, or raise the errors of `image`."""
        found = find_image(self._graph, source_id)
        content = self.read(found.thumbnail_key)
        return ImageFile(content, THUMBNAIL_TYPE, found.document, found.thumbnail_key)

    def delete_unused(self) -> int:
        """Delete unused and partial files. Return their number. After a KgError, the next run continues."""
        return self._store.delete_partial_files() + self.collect()

    def collect_after_delete(self) -> None:
        """Delete some unused files while a client waits. Errors are only logged: the documents are gone."""
        try:
            self.collect_some(LOOKED_AT_A_REQUEST)
        except KgError as error:
            log.warning("unused images stay until the next clean-up", reason=str(error))

    def _name(self, key: str) -> str:
        if (name := find_blob_name(self._graph, key)) is None:
            raise report_lost_file(key)
        return name

    def _delete_all_dead(self) -> int:
        """Delete the files of deleted blobs, including those that other processes left."""
        deleted = 0
        while dead := list_dead_blobs(self._graph):
            deleted += self._delete(dead)
        return deleted

    def _delete(self, dead: Sequence[str]) -> int:
        if not dead:
            return 0
        self._right.require()
        for name in dead:
            self._store.delete(name)
        self._right.require()  # deletion in an unmounted folder succeeds without any effect
        return delete_dead_records(self._graph, dead)


@dataclass(frozen=True, slots=True)
class StoredImageKeys:
    """Images in input order."""

    images: list[StoredImage]
    original: str | None  # key of the file that contains the images, if kg stores it
    hold: str | None  # id of the hold that protects the files until their document is stored


@dataclass(frozen=True, slots=True)
class ImageKeeper:
    """Writer of files before their document is stored. Without `files`, it only computes keys."""

    files: StoredFiles | None = None

    def keep(self, images: Sequence[ReadImage], original: bytes | None = None) -> StoredImageKeys:
        """Store the files of images, and the original file if given. After Unavailable, nothing is stored."""
        contents = [content for each in images for content in (each.content, each.thumbnail)]
        contents += [] if original is None else [original]
        stored = [
            StoredImage(
                storage_key=compute_blob_key(each.content),
                thumbnail_key=compute_blob_key(each.thumbnail),
                content_type=each.content_type,
                width=each.width,
                height=each.height,
                bytes=len(each.content),
            )
            for each in images
        ]
        hold = self.files.keep(contents) if self.files and contents else None
        return StoredImageKeys(stored, None if original is None else compute_blob_key(original), hold)
