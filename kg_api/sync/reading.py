"""Reading one file of a folder: never out of the folder, never one that is being written."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kg_api import __version__
from kg_api.errors import TooLarge, UnreadableDocument
from kg_api.models.library.metadata import file_time
from kg_api.parse.split import SPLITTER_VERSION

SETTLED_SECONDS = 2.0
"""A file that changed less long ago may change again within the same tick of the file system's clock."""
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


class UnsettledFile(Exception):
    """The file is being written, or has just gone."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file says."""

    data: bytes
    stamp: str | None
    """What it looked like; None when it changed so lately that it may change again and look the same."""
    file_hash: str
    """Of what it says, to the byte, as this kg would split it."""
    modified: str | None = None
    """When it was last written."""


def inside(path: Path, root: Path, is_private: Callable[[Path], bool]) -> Path:
    """The file behind a path, links resolved.

    Args:
        path: of a file in the folder.
        root: the folder, links resolved.
        is_private: whether a folder is one of kg's own.

    Raises:
        UnreadableDocument: a link leads out of the folder, or to what is passed over in it.
        UnsettledFile: the file has gone.
        OSError: it cannot be reached.
    """
    try:
        resolved = path.resolve(strict=True)
    except FileNotFoundError:
        raise UnsettledFile from None
    if not resolved.is_relative_to(root):
        raise UnreadableDocument("it is a link that leads out of the folder; such links are not followed")
    below = resolved.relative_to(root)
    if any(part.startswith(".") for part in below.parts) or any(map(is_private, resolved.parents)):
        raise UnreadableDocument("it is a link to what is hidden or kg's own, which is not followed")
    return resolved


def stamp_of(seen: os.stat_result) -> str:
    """What a file looks like: its size, when it was last written, and when it last changed in any way.

    A kg that splits otherwise takes every file for changed.
    """
    return f"{SPLITTER_VERSION}:{__version__}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"


def read_settled(path: Path, max_bytes: int) -> Content:
    """Read a file that nobody writes meanwhile.

    Args:
        path: of a file, links resolved.
        max_bytes: how large it may be.

    Raises:
        UnsettledFile: it changed while it was read, or has gone.
        TooLarge: it is larger than that.
        UnreadableDocument: it is no file.
        OSError: it cannot be read.
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise UnsettledFile from None
    with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
        before = os.fstat(handle)
        _check(before, max_bytes)
        if not _is_that_file(path, before):
            raise UnsettledFile
        data = file.read(max_bytes + 1)
        after = os.fstat(handle)
    if stamp_of(before) != stamp_of(after) or len(data) != after.st_size:
        raise UnsettledFile
    stamp = stamp_of(after) if _is_settled(after) else None
    return Content(
        data, stamp, f"{SPLITTER_VERSION}:{hashlib.sha256(data).hexdigest()}", file_time(after.st_mtime)
    )


def _is_that_file(path: Path, opened: os.stat_result) -> bool:
    """Whether the path still leads to the opened file by no link: a folder above it may have been swapped."""
    try:
        return path.resolve(strict=True) == path and os.path.samestat(path.lstat(), opened)
    except OSError:
        return False


def _check(seen: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise UnreadableDocument("it is a pipe, a socket or a device, not a file")
    if seen.st_size > max_bytes:
        raise TooLarge(f"it is larger than {max_bytes:,} bytes (KG_API__MAX_DOCUMENT_BYTES); divide it")


def _is_settled(seen: os.stat_result) -> bool:
    return time.time() - max(seen.st_mtime, seen.st_ctime) > SETTLED_SECONDS
