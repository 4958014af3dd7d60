"""Which files of a folder are taken, and what each is called: the same for an ingest and for a scan."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kg_api.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """A file and the name of its document: the path below the folder given, with `/`."""

    path: Path
    document: str


class FileProblem(NamedTuple):
    """A path that cannot be taken."""

    path: str
    reason: str
    document: str
    """The name its document would have; of a folder that cannot be listed, what those below it begin with."""


@dataclass(slots=True)
class FileSelection:
    """What was found under the paths given."""

    files: list[FileToIngest] = field(default_factory=list[FileToIngest])
    left_out: Counter[str] = field(default_factory=Counter[str])
    """How many files of each other ending, in folders; they are told, not passed over silently."""
    problems: list[FileProblem] = field(default_factory=list[FileProblem])


def select(
    paths: Iterable[Path],
    suffixes: Collection[str],
    prefix: str = "",
    passed_over: Callable[[Path], bool] = lambda _: False,
) -> FileSelection:
    """Find the files under some paths: a file as it is, a folder with all below it that can be read.

    Hidden files and folders are passed over, and links to folders are not followed. Two files that would have
    the same name are a problem of the second: it would take the place of the first.

    Args:
        paths: files and folders.
        suffixes: of the files that are taken from folders.
        prefix: goes before each document's name.
        passed_over: whether a folder is left out with all that is below it.

    Raises:
        InvalidInput: a path does not exist.
    """
    selection = FileSelection()
    owners: dict[str, Path] = {}
    for path in paths:
        wanted = suffixes if path.is_dir() else None
        for found in _below(path, prefix, selection, passed_over):
            if wanted is not None and found.suffix.lower() not in wanted:
                selection.left_out[to_printable(found.suffix.lower()) or "no ending"] += 1
                continue
            document = prefix + (found.relative_to(path).as_posix() if path.is_dir() else path.name)
            _take(FileToIngest(found, document), owners, selection)
    return selection


def to_printable(path: str | Path) -> str:
    """A path as it can be printed: what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _below(
    path: Path, prefix: str, selection: FileSelection, passed_over: Callable[[Path], bool]
) -> Iterator[Path]:
    if not path.exists():
        raise InvalidInput(f"{to_printable(path)}: no such file or folder")
    if not path.is_dir():
        yield path
        return

    def unlisted(error: OSError) -> None:
        below = Path(error.filename).relative_to(path)
        beginning = prefix + (f"{below.as_posix()}/" if below.parts else "")
        reason = f"cannot be listed: {error.strerror}"
        selection.problems.append(FileProblem(to_printable(error.filename), reason, beginning))

    for folder, subfolders, files in os.walk(path, onerror=unlisted):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        private = [name for name in subfolders if passed_over(Path(folder, name))]
        if private:
            selection.left_out["folder of kg itself"] += len(private)
            subfolders[:] = [name for name in subfolders if name not in private]
        links = sum(Path(folder, name).is_symlink() for name in subfolders)
        if links:
            selection.left_out["link to a folder"] += links
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _take(file: FileToIngest, owners: dict[str, Path], selection: FileSelection) -> None:
    problem = _problem(file)
    owner = None if problem else owners.setdefault(file.document, file.path)
    if owner is file.path:
        selection.files.append(file)
    elif owner is not None and not owner.samefile(file.path):
        problem = (
            f"the name {file.document!r} is taken by {to_printable(owner)}; ingest it by itself with --prefix"
        )
    if problem:
        selection.problems.append(FileProblem(to_printable(file.path), problem, file.document))


def _problem(file: FileToIngest) -> str | None:
    """Why a file cannot be taken; reading a pipe or a device would not end."""
    try:
        file.document.encode()
        regular = stat.S_ISREG(file.path.stat().st_mode)
    except UnicodeEncodeError:
        return "its name is not valid UTF-8; rename it"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if regular else "cannot be read: it is a pipe, a socket or a device, not a file"
