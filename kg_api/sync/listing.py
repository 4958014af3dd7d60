"""What is in a folder at one moment. One that cannot be seen is an error, never an empty one."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg_api.errors import FolderUnusable
from kg_api.models.identity import document_name
from kg_api.parse.documents import SUFFIXES
from kg_api.parse.files import FileProblem, FileToIngest, select
from kg_api.sync.access import FolderAccess


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files of a folder, by the names of their documents."""

    root: Path
    """The folder, links resolved."""
    place: tuple[int, int]
    """Device and inode of it: another one means that it was mounted, or replaced, meanwhile."""
    prefix: str
    files: Sequence[FileToIngest]
    """In the order of their names' code points."""
    problems: Sequence[FileProblem]
    left_out: dict[str, int]
    is_private: Callable[[Path], bool]
    """Whether a folder is one of kg's own, which are never read."""

    def gone(self, names: Iterable[str]) -> list[str]:
        """Which of these names are of no file that is here, nor of one that cannot be seen."""
        there = {file.document for file in self.files}
        unseen = tuple(problem.document for problem in self.problems if problem.document.endswith("/"))
        there |= {problem.document for problem in self.problems}
        return sorted(name for name in set(names) - there if not name.startswith(unseen))

    def is_still_there(self) -> bool:
        """Whether the folder is the one that was listed."""
        try:
            return _place(self.root.stat()) == self.place
        except OSError:
            return False

    def has_gone(self, name: str) -> bool:
        """Whether there is really no file by that name; False when that cannot be told."""
        if name != document_name(name) or not name.startswith(self.prefix):
            return True  # it was followed with another prefix before, or by a kg that kept names as they were
        path = self.root / name.removeprefix(self.prefix)
        if any(self.is_private(folder) for folder in path.parents):
            return True  # it was followed by a kg that read such folders
        try:
            if path.parent.resolve() != path.parent:
                return True  # behind a link to a folder, which is not followed
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, RuntimeError):
            return False
        return False


def list_folder(path: str, prefix: str, access: FolderAccess, *, granted: bool) -> FolderListing:
    """List a folder.

    Args:
        path: where it is.
        prefix: goes before each document's name.
        access: what may be read.
        granted: whether this home's own user asked for the folder.

    Raises:
        FolderUnusable: it is not there, is no folder, cannot be listed, or must not be read.
    """
    root, seen = _resolve(path)
    if objection := access.objection(path, granted=granted, root=root):
        raise FolderUnusable(f"{objection}; nothing was removed")
    selection = select([root], SUFFIXES, prefix, passed_over=access.is_private)
    for problem in selection.problems:
        if problem.path == str(root):
            raise FolderUnusable(f"{path} {problem.reason}; nothing was removed")
    return FolderListing(
        root=root,
        place=_place(seen),
        prefix=document_name(prefix),
        files=sorted(selection.files, key=lambda file: file.document),
        problems=selection.problems,
        left_out=dict(selection.left_out),
        is_private=access.is_private,
    )


def _resolve(path: str) -> tuple[Path, os.stat_result]:
    try:
        root = Path(path).resolve(strict=True)
        seen = root.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise FolderUnusable(
            f"there is no folder {path} on the worker's machine ({socket.gethostname()}): mount it, or let a "
            "worker run where it is; nothing was removed"
        ) from None
    except (OSError, RuntimeError) as error:
        raise FolderUnusable(f"{path} cannot be read: {error}; nothing was removed") from error
    if not stat.S_ISDIR(seen.st_mode):
        raise FolderUnusable(f"{path} is not a folder; nothing was removed")
    return root, seen


def _place(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_dev, seen.st_ino
