"""A copy of folders that are in use: brought near in passes, and made equal while nobody writes.

What is copied in a pass is what has changed since the one before. A file's time of change is no proof where
it is young: a further write may come within the clock's own step. Such files are copied again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kg_api.backup.copying import OnBytes, copy_file, files_below

YOUNG_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class FileState:
    """By what one sees that a file has changed."""

    inode: int
    size: int
    changed_ns: int


UNKNOWN: Final = FileState(0, 0, 0)


class Mirror:
    """A copy of some folders, below one folder of its own.

    Args:
        trees: pairs of a folder and of its place in the copy.
        to: the folder of the copy, which is there.
        wanted: whether a file is to be copied, by its path below its folder.
    """

    def __init__(
        self, trees: Sequence[tuple[Path, str]], to: Path, wanted: Callable[[Path], bool] = lambda _: True
    ) -> None:
        self._trees = trees
        self._to = to
        self._wanted = wanted
        self._copied: dict[Path, FileState] = {}

    def measure(self) -> int:
        """Give the bytes of all that is to be copied."""
        return sum(state.size for _, _, state in self._find())

    def outstanding(self) -> int:
        """Give the bytes of what has changed since it was copied."""
        return sum(state.size for _, to, state in self._find() if self._copied.get(to) != state)

    def approach(self, on_bytes: OnBytes) -> None:
        """Copy what has changed, while others write: what vanishes meanwhile is passed over."""
        for source, to, state in self._find():
            if self._copied.get(to) != state:
                with contextlib.suppress(FileNotFoundError):
                    self._copy(source, to, state, on_bytes)

    def settle(self, on_bytes: OnBytes) -> None:
        """Make the copy equal, while nobody writes.

        Raises:
            OSError: something cannot be copied.
        """
        there = set[Path]()
        for source, to, state in self._find():
            there.add(to)
            if self._copied.get(to) != state:
                self._copy(source, to, state, on_bytes)
        for gone in self._copied.keys() - there:
            gone.unlink(missing_ok=True)
            del self._copied[gone]

    def _copy(self, source: Path, to: Path, state: FileState, on_bytes: OnBytes) -> None:
        young = time.time_ns() - state.changed_ns < YOUNG_NS
        self._copied[to] = UNKNOWN
        copy_file(source, to, on_bytes)
        if not young:
            self._copied[to] = state

    def _find(self) -> Iterator[tuple[Path, Path, FileState]]:
        for folder, name in self._trees:
            for path in files_below(folder):
                below = path.relative_to(folder)
                if self._wanted(below) and (state := _state_of(path)):
                    yield path, self._to / name / below, state


def _state_of(path: Path) -> FileState | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return FileState(found.st_ino, found.st_size, found.st_mtime_ns)
