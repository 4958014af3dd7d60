"""Copying files for their owner alone, in pieces, and what their bytes hash to."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kg_api.errors import StorageFull
from kg_api.files.whole import FOLDER_MODE

PIECE: Final = 4 * 1024 * 1024
MIB: Final = 1024 * 1024
OnBytes = Callable[[int], None]
"""Called with the bytes that were copied or read since it was called last."""


def files_below(folder: Path) -> Iterator[Path]:
    """Give every file below a folder; none where there is no such folder."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def size_below(folder: Path) -> int:
    """Give the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in files_below(folder))


def copy_file(source: Path, to: Path, on_bytes: OnBytes, hashed: Any = None) -> None:
    """Copy a file that nobody else may read; what it held is replaced.

    Args:
        source: the file.
        to: its copy; folders above it are made.
        on_bytes: told of each piece.
        hashed: a hash that gets each piece.

    Raises:
        OSError: one cannot be read, or the other not written.
    """
    to.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with source.open("rb") as file, os.fdopen(_open_own(to), "wb") as copy:
        while piece := file.read(PIECE):
            copy.write(piece)
            if hashed is not None:
                hashed.update(piece)
            on_bytes(len(piece))


def hash_and_keep(path: Path, on_bytes: OnBytes) -> str:
    """Give the SHA-256 of a file, and see to it that it is on the disk.

    Raises:
        OSError: it cannot be read.
    """
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            hashed.update(piece)
            on_bytes(len(piece))
        os.fsync(file.fileno())
    return hashed.hexdigest()


def require_room(folder: Path, needed: int, reserve: int) -> None:
    """Begin only what there is room for.

    Raises:
        StorageFull: saying how much is missing.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed + reserve:
        raise StorageFull(
            f"the disk of {folder} has {free / MIB:.0f} MiB left; {needed / MIB:.0f} MiB are to be written, "
            f"with {reserve / MIB:.0f} MiB to spare: free some space, or name a folder on another disk"
        )


def _open_own(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
