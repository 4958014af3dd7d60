"""Where bytes are kept that are no business of the database: pictures, their thumbnails and PDFs."""

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

MARKER = "store.json"  # what tells one store from another, beside its blobs
_NAME = re.compile("([0-9a-f]{64})(-[0-9a-f]{32})?")


class BlobStore(ABC):
    """Keeps bytes by name. Thread-safe, and shared by all processes of one kg.

    A name is the key of what it stands for, the hash of its bytes, and a generation: what was deleted comes
    again under another name, so that a deletion that is carried out late, or twice, hurts nothing. Which
    names are used is said in the graph (`kg_api/blobs/images.py`): a store knows no users.

    Methods raise Unavailable if the store does not answer, and FileStoreFull if there is no room.
    """

    place: str  # what people call it, with the settings that name it

    def identity(self) -> str | None:
        """Return which store it is; None: nobody has marked it, or it is not there."""
        with self._translated("read"):
            try:
                identity = json.loads(self._read(MARKER))["store"]
            except (FileNotFoundError, ValueError, TypeError, KeyError):
                return None
        return identity if isinstance(identity, str) and identity else None

    def mark(self, identity: str) -> None:
        """Let it be that store from now on."""
        with self._translated("kept"):
            self._write(MARKER, marker_of(identity).encode())

    def put(self, name: str, content: bytes) -> bool:
        """Keep bytes, all of them or none; return whether they were not there already, whole."""
        _require_name(name)
        with self._translated("kept"):
            if is_new := not self._holds(name, content):
                self._write(name, content)
        return is_new

    def read(self, name: str) -> bytes:
        """Return the bytes of a name.

        Raises:
            FileLost: they are not there, or are not what was put.
        """
        _require_name(name)
        with self._translated("read"):
            try:
                content = self._read(name)
            except FileNotFoundError:
                raise gone(name) from None
        if not name.startswith(key_of(content)):
            raise FileLost(f"the stored file {name} is damaged: ingest its document again")
        return content

    def has(self, name: str) -> bool:
        """Return whether there is something of that name."""
        with self._translated("read"):
            return self._has(name)

    def delete(self, name: str) -> None:
        """Forget a name, which is never put again; one that is not there is no error."""
        _require_name(name)
        with self._translated("deleted"):
            self._remove(name)

    @abstractmethod
    def sweep(self) -> int:
        """Remove what was being written when its process died; return how many files."""

    @abstractmethod
    def _read(self, name: str) -> bytes:
        """Return the content; raises FileNotFoundError."""

    @abstractmethod
    def _holds(self, name: str, content: bytes) -> bool:
        """Return whether it is there with this content: a disk may have kept its size, and other bytes."""

    @abstractmethod
    def _has(self, name: str) -> bool: ...

    @abstractmethod
    def _write(self, name: str, content: bytes) -> None:
        """Write it whole or not at all."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Delete it, if it is there."""

    @abstractmethod
    def _translated(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the file system or the bucket into Unavailable and FileStoreFull."""


def _require_name(name: str) -> None:
    """Reject a name that is no hash and generation: none leads to a file that is not the store's."""
    if not _NAME.fullmatch(name):
        raise NotFound("that is not the name of a stored file")


def name_of(key: str, generation: str | None) -> str:
    """Return what a store calls a blob; those of before there were generations have none."""
    return key if generation is None else f"{key}-{generation}"


def gone(name: str) -> FileLost:
    """Return the error of a file that is not there."""
    return FileLost(f"the stored file {name} is not there any more: ingest its document again")


def marker_of(identity: str) -> str:
    """Return the content of a store's marker."""
    return json.dumps({"store": identity})


def key_of(content: bytes) -> str:
    """Return the key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()


ABANDONED_SECONDS = 24 * 3600  # of a file that was being written: by then its writer has gone
_BEING_WRITTEN = ".writing-"
_NO_ROOM = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


class FileBlobStore(BlobStore):
    """Keeps blobs below a folder, `ab/abcdef...`; the folder is made when the first one comes."""

    place = "the folder of stored files (KG_BLOBS__FOLDER)"

    def __init__(self, folder: Path) -> None:
        """Args: the folder; nobody else writes below it."""
        self._folder = folder.expanduser().absolute()

    def sweep(self, older_than: float = ABANDONED_SECONDS) -> int:
        removed = 0
        with self._translated("deleted"):
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
    def _translated(self, done: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise FileStoreFull(
                    "the disk of the store of files is full: free some space, and try again"
                ) from None
            raise Unavailable(f"a stored file cannot be {done}: {error.strerror or error}") from error


def open_blobs(settings: BlobSettings, home: Path) -> BlobStore:
    """Open the store that the settings name, by default the folder `home`; nothing is asked of it yet.

    Raises:
        ConfigurationError: it is a bucket, and what it takes to reach one is missing.
    """
    if settings.s3.bucket is None:
        return FileBlobStore(settings.folder or home)
    from kg_api.blobs.s3 import open_bucket  # noqa: PLC0415 - an extra

    return open_bucket(settings.s3)
