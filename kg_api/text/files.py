"""Files below a folder and the names of their documents. Ingestion and folder scans share these rules."""

from __future__ import annotations

import os
import stat
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from kg_api.errors import InvalidInput
from kg_api.schemas.base import document_name

IGNORED = "ignored by .gitignore"
EXCLUDED = "excluded by --exclude"
NOT_INCLUDED = "not named by --include"
EMPTY = "empty file"
_MAX_BYTES = 1_000_000  # of a .gitignore that is read


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What is wanted of folders. Patterns are those of .gitignore, relative to the folder that is named."""

    include: Sequence[str] = ()  # only files that one of them fits; none: all
    exclude: Sequence[str] = ()
    gitignore: bool = True  # whether files that git would ignore are left out


class FolderFilter:
    """The rules, for one folder that a person named."""

    def __init__(self, root: Path, rules: FolderRules) -> None:
        """Read the .gitignore files above the folder, up to the repository that it is in."""
        self._given, self._root = root, root.resolve()
        self._include = _spec(rules.include) if rules.include else None
        self._exclude = _spec(rules.exclude)
        self._gitignore = rules.gitignore
        self._specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
        if rules.gitignore:
            self._specs[self._root.parent] = [*_above(self._root)]

    def reason_of(self, path: Path, *, is_folder: bool = False) -> str | None:
        """Why a file is left out, or a folder with all that is below it; None: it is wanted."""
        below = path.relative_to(self._given).as_posix() + "/" * is_folder
        if self._exclude.match_file(below):
            return EXCLUDED
        if not is_folder and self._include is not None and not self._include.match_file(below):
            return NOT_INCLUDED
        return IGNORED if self._gitignore and self._is_ignored(below) else None

    def _is_ignored(self, below: str) -> bool:
        """As git decides it: the deepest file that says something of it, and the last line there."""
        path = self._root / below
        for base, spec in reversed(self._of(path.parent)):
            said = spec.check_file(path.relative_to(base).as_posix() + "/" * below.endswith("/")).include
            if said is not None:
                return said
        return False

    def _of(self, folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
        known = self._specs.get(folder)
        if known is None:
            known = self._specs[folder] = [*self._of(folder.parent), *_read(folder)]
        return known


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise InvalidInput(f"--include and --exclude take patterns as .gitignore does: {error}") from None


def _above(root: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    """Those of the folders between a repository and the folder that was named, the highest first."""
    above = [*root.parents]
    for at, folder in enumerate(above):
        if (folder / ".git").exists():
            for each in reversed(above[: at + 1]):
                yield from _read(each)
            return
        if (root / ".git").exists():
            return


def _read(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    file = folder / ".gitignore"
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _MAX_BYTES:
            lines = file.read_text("utf-8", "replace").splitlines()
            yield folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    """Git passes over lines that are no patterns."""
    with suppress(ValueError):
        GitIgnoreSpec.from_lines([line])
        return True
    return False


_SEEN_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """A file and the name of its document: the path below the folder given, with `/`."""

    path: Path
    document: str
    folder: Path | None = None  # the folder that was given; None: it was given itself

    @property
    def root(self) -> Path:
        """What it may refer to lies in here."""
        return (self.folder or self.path.parent).resolve()


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
    review: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path of each file or folder that was left out, and why or its ending."""
    problems: list[FileProblem] = field(default_factory=list[FileProblem])

    def leave_out(self, path: Path, kind: str) -> None:
        self.left_out[kind] += 1
        self.review.append((to_printable(path), kind))


def select(
    paths: Iterable[Path],
    suffixes: Collection[str],
    prefix: str = "",
    passed_over: Callable[[Path], bool] = lambda _: False,
    rules: FolderRules | None = None,
) -> FileSelection:
    """Find the files under some paths: a file as it is, a folder with all below it that can be read.

    Hidden files and folders are passed over, and links to folders are not followed. Two files that would have
    the same name are a problem of the second: it would take the place of the first.

    Args:
        paths: files and folders.
        suffixes: of the files that are taken from folders.
        prefix: goes before each document's name.
        passed_over: whether a folder is left out with all that is below it.
        rules: what else is left out of folders, and then files that are empty or blank, too. None: nothing.
    """
    selection = FileSelection()
    owners: dict[str, Path] = {}
    for path in paths:
        within = path.is_dir()
        chosen = FolderFilter(path, rules) if within and rules else None
        for found in _below(path, prefix, selection, passed_over, chosen):
            if within and (kind := _unwanted(found, suffixes, chosen)):
                selection.leave_out(found, kind)
                continue
            document = document_name(prefix + (found.relative_to(path).as_posix() if within else path.name))
            _take(FileToIngest(found, document, path if within else None), owners, selection)
    return selection


def to_printable(path: str | Path) -> str:
    """A path as it can be printed: what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _unwanted(file: Path, suffixes: Collection[str], chosen: FolderFilter | None) -> str | None:
    """Why a file of a folder is not taken, or its ending, which is not read; None: it is."""
    if chosen and (reason := chosen.reason_of(file)):
        return reason
    if file.suffix.lower() not in suffixes:
        return to_printable(file.suffix.lower()) or "no ending"
    return EMPTY if chosen and is_empty(file) else None


def is_empty(file: Path) -> bool:
    """Whether it says nothing, or only blanks; what cannot be looked at is told later."""
    try:
        return stat.S_ISREG(file.stat().st_mode) and _is_blank(file)
    except OSError:
        return False


def _is_blank(file: Path) -> bool:
    with file.open("rb") as content:
        said = content.read(_SEEN_BYTES).removeprefix(BOM_UTF8)
        while not said or said.isspace():
            if not (said := content.read(_SEEN_BYTES)):
                return True
    return False


def _below(
    path: Path,
    prefix: str,
    selection: FileSelection,
    passed_over: Callable[[Path], bool],
    chosen: FolderFilter | None,
) -> Iterator[Path]:
    if not path.exists():
        raise InvalidInput(f"{to_printable(path)}: no such file or folder")
    if not path.is_dir():
        yield path
        return

    def unlisted(error: OSError) -> None:
        below = Path(error.filename).relative_to(path)
        beginning = document_name(prefix + (f"{below.as_posix()}/" if below.parts else ""))
        reason = f"cannot be listed: {error.strerror}"
        selection.problems.append(FileProblem(to_printable(error.filename), reason, beginning))

    for folder, subfolders, files in os.walk(path, onerror=unlisted):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        subfolders[:] = [
            name for name in subfolders if _is_entered(Path(folder, name), selection, passed_over, chosen)
        ]
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _is_entered(
    folder: Path, selection: FileSelection, passed_over: Callable[[Path], bool], chosen: FolderFilter | None
) -> bool:
    """Whether files are looked for below a folder; if not, it is told."""
    if passed_over(folder):
        selection.leave_out(folder, "folder of kg itself")
        return False
    if chosen and (reason := chosen.reason_of(folder, is_folder=True)):
        selection.leave_out(folder, f"folder {reason}")
        return False
    if folder.is_symlink():  # which the walk does not follow
        selection.leave_out(folder, "link to a folder")
    return True


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
