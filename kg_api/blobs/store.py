"""Where bytes are kept that are no business of the database: pictures, their thumbnails and PDFs."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import FileLost, FileStoreFull, NotFound, Unavailable
from kg_api.settings import BlobSettings

MARKER = "store.json"
"""What tells one store from another, beside its blobs."""
_NAME = re.compile("([0-9a-f]{64})(-[0-9a-f]{32})?")


class BlobStore(Protocol):
    """Keeps bytes by name. Thread-safe, and shared by all processes of one kg.

    A name is the key of what it stands for, the hash of its bytes, and a generation: what was deleted comes
    again under another name, so that a deletion that is carried out late, or twice, hurts nothing. Which
    names are used is said in the graph (`kg_api/blobs/images.py`): a store knows no users.
    """

    place: str
    """What people call it, with the settings that name it."""

    def identity(self) -> str | None:
        """Which store it is; None: nobody has marked it, or it is not there.

        Raises:
            Unavailable: it does not answer.
        """
        ...

    def mark(self, identity: str) -> None:
        """Let it be that store from now on.

        Raises:
            FileStoreFull, Unavailable: as `put` does.
        """
        ...

    def put(self, name: str, content: bytes) -> bool:
        """Keep bytes, all of them or none; whether they were not there already, whole.

        Raises:
            FileStoreFull: there is no room.
            Unavailable: they cannot be kept.
        """
        ...

    def read(self, name: str) -> bytes:
        """Give the bytes of a name.

        Raises:
            FileLost: they are not there, or are not what was put.
            Unavailable: they cannot be read.
        """
        ...

    def has(self, name: str) -> bool:
        """Whether there is something of that name.

        Raises:
            Unavailable: it does not answer.
        """
        ...

    def delete(self, name: str) -> None:
        """Forget a name, which is never put again; one that is not there is no error.

        Raises:
            Unavailable: it cannot be deleted, or nobody knows whether it was, or will be.
        """
        ...

    def sweep(self) -> int:
        """Remove what was being written when its process died; says how many files.

        Raises:
            Unavailable: they cannot be removed.
        """
        ...


def name_of(key: str, generation: str | None) -> str:
    """What a store calls a blob; those of before there were generations have none."""
    return key if generation is None else f"{key}-{generation}"


def require_name(name: str) -> str:
    """A name is a hash and a generation, and nothing else: none leads to what is not the store's.

    Raises:
        NotFound: it is no name.
    """
    if not _NAME.fullmatch(name):
        raise NotFound("that is not the name of a stored file")
    return name


def gone(name: str) -> FileLost:
    """What to raise of a file that is not there."""
    return FileLost(f"the stored file {name} is not there any more: ingest its document again")


def require_whole(name: str, content: bytes) -> bytes:
    """What was read of a name.

    Raises:
        FileLost: it is not what its name says.
    """
    if not name.startswith(key_of(content)):
        raise FileLost(f"the stored file {name} is damaged: ingest its document again")
    return content


def marker_of(identity: str) -> str:
    """What a store's marker says."""
    return json.dumps({"store": identity})


def identity_in(marker: bytes) -> str | None:
    """Which store it is by its marker; None: that says nothing."""
    try:
        identity = json.loads(marker)["store"]
    except (ValueError, TypeError, KeyError):
        return None
    return identity if isinstance(identity, str) and identity else None


def key_of(content: bytes) -> str:
    """The key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()


# Blobs as files of one folder, `ab/abcdef...`: each is written beside its place and renamed into it.

ABANDONED_SECONDS = 24 * 3600
"""Of a file that was being written: by then its writer has gone."""
_BEING_WRITTEN = ".writing-"
_NO_ROOM = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


class FileBlobStore:
    """Keeps blobs below a folder, which is made when the first one comes."""

    place = "the folder of stored files (KG_BLOBS__FOLDER)"

    def __init__(self, folder: Path) -> None:
        """Args: the folder; nobody else writes below it."""
        self._folder = folder.expanduser().absolute()

    def identity(self) -> str | None:
        """Which store it is; see `BlobStore`."""
        with _translated("read"), contextlib.suppress(FileNotFoundError):
            return identity_in((self._folder / MARKER).read_bytes())
        return None

    def mark(self, identity: str) -> None:
        """Let it be that store; see `BlobStore`."""
        with _translated("kept"):
            _write(self._folder / MARKER, marker_of(identity).encode())

    def put(self, name: str, content: bytes) -> bool:
        """Keep bytes; see `BlobStore`."""
        path = self._path(name)
        with _translated("kept"):
            if _holds(path, content):
                return False
            _write(path, content)
            return True

    def read(self, name: str) -> bytes:
        """Give the bytes of a name; see `BlobStore`."""
        with _translated("read"):
            try:
                content = self._path(name).read_bytes()
            except FileNotFoundError:
                raise gone(name) from None
        return require_whole(name, content)

    def has(self, name: str) -> bool:
        """Whether there is such a file; see `BlobStore`."""
        with _translated("read"):
            return self._path(name).is_file()

    def delete(self, name: str) -> None:
        """Forget a name; see `BlobStore`."""
        with _translated("deleted"):
            self._path(name).unlink(missing_ok=True)

    def sweep(self, older_than: float = ABANDONED_SECONDS) -> int:
        """Remove what nobody writes any more; see `BlobStore`."""
        removed = 0
        with _translated("deleted"):
            for path in self._folder.rglob(f"{_BEING_WRITTEN}*"):
                if time.time() - path.stat().st_mtime > older_than:
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def _path(self, name: str) -> Path:
        return self._folder / require_name(name)[:2] / name


def _holds(path: Path, content: bytes) -> bool:
    """Whether a file is there whole: a disk may have kept its name and its size, and other bytes."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    write_whole(path, content, prefix=_BEING_WRITTEN)


@contextlib.contextmanager
def _translated(done: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise FileStoreFull(
                "the disk of the store of files is full: free some space, and try again"
            ) from None
        raise Unavailable(f"a stored file cannot be {done}: {error.strerror or error}") from error


# The store of files that the settings name.


def open_blobs(settings: BlobSettings, home: Path) -> BlobStore:
    """Open it; nothing is asked of it before the first file.

    Args:
        settings: which one.
        home: the folder that it is, where none is named.

    Raises:
        ConfigurationError: it is a bucket, and what it takes to reach one is missing.
    """
    if settings.s3.bucket is None:
        return FileBlobStore(settings.folder or home)
    from kg_api.blobs.s3 import open_bucket  # noqa: PLC0415 - an extra

    return open_bucket(settings.s3)
