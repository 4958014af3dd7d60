"""Storage for bytes outside the database: images, their thumbnails, and PDFs."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import FileLost, FileStoreFull, NotFound, Unavailable
from kg_api.settings import BlobSettings

MARKER = "store.json"  # identifies the store, next to the blobs
_NAME = re.compile("[0-9a-f]{64}-[0-9a-f]{32}")


class BlobStore(ABC):
    """Bytes by name. Thread-safe, and shared by all processes of one kg.

    A name is a key (hash of the bytes) and a generation. A file that is stored again after its deletion gets
    a new generation, so a late or repeated deletion is harmless. The graph records which names are in use
    (`kg_api/blobs/images.py`).

    Methods raise Unavailable if the store does not answer, and FileStoreFull if there is no space.
    """

    place: str  # name for messages, with its settings

    def identity(self) -> str | None:
        """Return the identity of the store, or None if it has no marker or does not exist."""
        with self._translate_errors("read"):
            try:
                identity = json.loads(self._read(MARKER))["store"]
            except (FileNotFoundError, ValueError, TypeError, KeyError):
                return None
        return identity if isinstance(identity, str) and identity else None

    def mark(self, identity: str) -> None:
        with self._translate_errors("kept"):
            self._write(MARKER, format_store_marker(identity).encode())

    def put(self, name: str, content: bytes) -> bool:
        """Store bytes atomically, and return whether a complete copy was missing."""
        _require_name(name)
        with self._translate_errors("kept"):
            if is_new := not self._holds(name, content):
                self._write(name, content)
        return is_new

    def read(self, name: str) -> bytes:
        """Read the bytes of a name. Raise FileLost if they are missing or differ from the stored ones."""
        _require_name(name)
        with self._translate_errors("read"):
            try:
                content = self._read(name)
            except FileNotFoundError:
                raise report_lost_file(name) from None
        if not name.startswith(compute_blob_key(content)):
            raise FileLost(f"the stored file {name} is damaged. Ingest its document again")
        return content

    def has(self, name: str) -> bool:
        with self._translate_errors("read"):
            return self._has(name)

    def delete(self, name: str) -> None:
        """Delete a file, if it exists. kg never reuses its name."""
        _require_name(name)
        with self._translate_errors("deleted"):
            self._remove(name)

    @abstractmethod
    def delete_partial_files(self) -> int:
        """Remove partial files of crashed processes, and return their number."""

    @abstractmethod
    def _read(self, name: str) -> bytes:
        """Return the content, or raise FileNotFoundError."""

    @abstractmethod
    def _holds(self, name: str, content: bytes) -> bool:
        """Check if this content is stored. The size is no proof, because a disk may damage bytes."""

    @abstractmethod
    def _has(self, name: str) -> bool: ...

    @abstractmethod
    def _write(self, name: str, content: bytes) -> None:
        """Write the file atomically."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Delete the file, if it exists."""

    @abstractmethod
    def _translate_errors(self, done: str) -> AbstractContextManager[None]:
        """Convert errors of the file system or the bucket to Unavailable and FileStoreFull."""


def _require_name(name: str) -> None:
    """Reject a name other than a hash with a generation, so that no path leaves the store."""
    if not _NAME.fullmatch(name):
        raise NotFound("that is not the name of a stored file")


def report_lost_file(name: str) -> FileLost:
    return FileLost(f"the stored file {name} is missing. Ingest its document again")


def format_store_marker(identity: str) -> str:
    return json.dumps({"store": identity})


def compute_blob_key(content: bytes) -> str:
    """Compute the SHA-256 of the bytes as lower-case hexadecimal."""
    return hashlib.sha256(content).hexdigest()


ABANDONED_SECONDS = 24 * 3600  # age after which the writer of a partial file no longer runs
_BEING_WRITTEN = ".writing-"
_NO_ROOM = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


class FileBlobStore(BlobStore):
    """Blobs as files `ab/abcdef...` in a folder. kg creates the folder for the first blob."""

    place = "the folder of stored files (KG_BLOBS__FOLDER)"

    def __init__(self, folder: Path) -> None:
        """Initialize the store with a folder that only kg writes to."""
        self._folder = folder.expanduser().absolute()

    def delete_partial_files(self, older_than: float = ABANDONED_SECONDS) -> int:
        removed = 0
        with self._translate_errors("deleted"):
            for path in self._folder.rglob(f"{_BEING_WRITTEN}*"):
                if time.time() - path.stat().st_mtime > older_than:
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def _path(self, name: str) -> Path:
        return self._folder / name if name == MARKER else self._folder / name[:2] / name

    def _read(self, name: str) -> bytes:
        return self._path(name).read_bytes()

    def _holds(self, name: str, content: bytes) -> bool:
        path = self._path(name)
        try:
            return path.stat().st_size == len(content) and path.read_bytes() == content
        except FileNotFoundError:
            return False

    def _has(self, name: str) -> bool:
        return self._path(name).is_file()

    def _write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        write_whole(path, content, prefix=_BEING_WRITTEN)

    def _remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    @contextmanager
    def _translate_errors(self, done: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise FileStoreFull(
                    "the disk of the store of files is full: free some space, and try again"
                ) from None
            raise Unavailable(f"a stored file cannot be {done}: {error.strerror or error}") from error


def open_blobs(settings: BlobSettings, home: Path) -> BlobStore:
    """Open the configured store (default: folder `home`). An incomplete bucket raises ConfigurationError."""
    if settings.s3.bucket is None:
        return FileBlobStore(settings.folder or home)
    from kg_api.blobs.s3 import open_bucket  # noqa: PLC0415 - an optional extra

    return open_bucket(settings.s3)
