"""Which files an ingest takes, and what each is called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kg_api.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """A file and the name of its document: the path below the folder given, with `/`."""

    path: Path
    document: str


@dataclass(slots=True)
class Selection:
    """What was found under the paths given."""

    files: list[FileToIngest] = field(default_factory=list[FileToIngest])
    left_out: Counter[str] = field(default_factory=Counter[str])
    """How many files of each other ending, in folders; they are told, not passed over silently."""
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Paths that cannot be taken, with the reason."""


def select(paths: Iterable[Path], suffixes: Collection[str], prefix: str = "") -> Selection:
    """Find the files under some paths: a file as it is, a folder with all below it that can be read.

    Hidden files and folders are passed over. Two files that would have the same name are a problem of the
    second: it would take the place of the first.

    Raises:
        InvalidInput: a path does not exist.
    """
    selection = Selection()
    owners: dict[str, Path] = {}
    for path in paths:
        for found, name in _below(path):
            if path.is_dir() and found.suffix.lower() not in suffixes:
                selection.left_out[found.suffix.lower() or "no ending"] += 1
                continue
            document = prefix + name
            owner = owners.setdefault(document, found)
            if owner is found:
                selection.files.append(FileToIngest(found, document))
            else:
                reason = f"the name {document!r} is taken by {owner}; ingest it by itself with --prefix"
                selection.problems.append((str(found), reason))
    return selection


def _below(path: Path) -> Iterator[tuple[Path, str]]:
    if not path.exists():
        raise InvalidInput(f"{path}: no such file or folder")
    if not path.is_dir():
        yield path, path.name
        return
    for folder, subfolders, files in os.walk(path):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                found = Path(folder, name)
                yield found, found.relative_to(path).as_posix()
