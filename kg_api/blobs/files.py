"""Blobs as files of one folder, `ab/abcdef...`: each is written beside its place and renamed into it."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Generator
from pathlib import Path

from kg_api.blobs.port import MARKER, gone, identity_in, marker_of, require_name, require_whole
from kg_api.errors import FileStoreFull, Unavailable
from kg_api.files.whole import FOLDER_MODE, write_whole

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
