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
from kg_api.schemas.base import normalize_document_name
from kg_api.text.decoding import is_text

IGNORED = "ignored by .gitignore"
EXCLUDED = "excluded by --exclude"
NOT_INCLUDED = "not named by --include"
EMPTY = "empty file"
NO_EXTENSION = "no extension, and no text"
_MAX_BYTES = 1_000_000  # maximum size of a .gitignore file


@dataclass(frozen=True, slots=True)
class FolderRules:
    """File selection for folders. Patterns follow .gitignore, relative to the given folder."""

    include: Sequence[str] = ()  # select only matching files (default: all)
    exclude: Sequence[str] = ()
    gitignore: bool = True  # skip files that git ignores


class FolderFilter:
    """Selection rules applied to one folder."""

    def __init__(self, root: Path, rules: FolderRules) -> None:
        """Read the .gitignore files above the folder, up to the root of its repository."""
        self._given, self._root = root, root.resolve()
        self._include = _compile_spec(rules.include) if rules.include else None
        self._exclude = _compile_spec(rules.exclude)
        self._gitignore = rules.gitignore
        self._specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
        if rules.gitignore:
            self._specs[self._root.parent] = [*_list_above(self._root)]

    def find_reason(self, path: Path, *, is_folder: bool = False) -> str | None:
        """Return the reason to skip a file, or a folder with its content, or None to select it."""
        below = path.relative_to(self._given).as_posix() + "/" * is_folder
        if self._exclude.match_file(below):
            return EXCLUDED
        if not is_folder and self._include is not None and not self._include.match_file(below):
            return NOT_INCLUDED
        return IGNORED if self._gitignore and self._is_ignored(below) else None

    def _is_ignored(self, below: str) -> bool:
        """Apply the rule of git: the last matching line of the deepest .gitignore with a match decides."""
        path = self._root / below
        for base, spec in reversed(self._read_patterns(path.parent)):
            included = spec.check_file(path.relative_to(base).as_posix() + "/" * below.endswith("/")).include
            if included is not None:
                return included
        return False

    def _read_patterns(self, folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
        known = self._specs.get(folder)
        if known is None:
            known = self._specs[folder] = [*self._read_patterns(folder.parent), *_read(folder)]
        return known


def _compile_spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise InvalidInput(f"--include and --exclude take patterns as .gitignore does: {error}") from None


def _list_above(root: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    """Yield the .gitignore files between the root of the repository and the folder, highest first."""
    if (root / ".git").exists():
        return
    above = [*root.parents]
    for at, folder in enumerate(above):
        if (folder / ".git").exists():
            for each in reversed(above[: at + 1]):
                yield from _read(each)
            return


def _read(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    file = folder / ".gitignore"
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _MAX_BYTES:
            lines = file.read_text("utf-8", "replace").splitlines()
            yield folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    """Check if a line is a valid pattern. git skips invalid lines."""
    with suppress(ValueError):
        GitIgnoreSpec.from_lines([line])
        return True
    return False


_SEEN_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """File and the name of its document, which is the path below the given folder, with `/`."""

    path: Path
    document: str


class FileProblem(NamedTuple):
    path: str
    reason: str
    document: str  # name of its document. For an unlistable folder, the common prefix of the names below it


@dataclass(slots=True)
class FileSelection:
    files: list[FileToIngest] = field(default_factory=list[FileToIngest])
    left_out: Counter[str] = field(default_factory=Counter[str])
    """Number of skipped files and folders by reason or unsupported extension."""
    review: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path, and reason or extension, of each skipped file or folder."""
    problems: list[FileProblem] = field(default_factory=list[FileProblem])

    def skip(self, path: Path, kind: str) -> None:
        self.left_out[kind] += 1
        self.review.append((to_printable(path), kind))


def select(
    paths: Iterable[Path],
    suffixes: Collection[str],
    prefix: str = "",
    passed_over: Callable[[Path], bool] = lambda _: False,
    rules: FolderRules | None = None,
) -> FileSelection:
    """Find the files under some paths: a file itself, or all readable files below a folder.

    In a folder, the extension decides. The content decides for files without an extension, such as LICENSE.

    The search skips hidden files and folders, and does not follow links to folders. If two files have the
    same document name, the second is a problem, because it would replace the first. `suffixes` selects files
    in folders. `passed_over` skips folders with their content. `rules` also skip empty and blank files.
    """
    selection = FileSelection()
    owners: dict[str, Path] = {}
    for path in paths:
        within = path.is_dir()
        chosen = FolderFilter(path, rules) if within and rules else None
        for found in _list_below(path, prefix, selection, passed_over, chosen):
            if within and (kind := find_reason_to_skip(found, suffixes, chosen)):
                selection.skip(found, kind)
                continue
            document = normalize_document_name(
                prefix + (found.relative_to(path).as_posix() if within else path.name)
            )
            _take(FileToIngest(found, document), owners, selection)
    return selection


def to_printable(path: str | Path) -> str:
    """Return a path for display, with invalid UTF-8 replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def find_reason_to_skip(
    file: Path, suffixes: Collection[str], chosen: FolderFilter | None = None
) -> str | None:
    """Return the reason to skip a file of a folder, or its unsupported extension, or None to select it."""
    if chosen and (reason := chosen.find_reason(file)):
        return reason
    suffix = file.suffix.lower()
    if suffix in suffixes:
        return EMPTY if chosen and is_empty(file) else None
    has_extension = suffix.strip(".0123456789")  # unlike Apache-2.0
    return None if not has_extension and _holds_text(file) else to_printable(suffix) or NO_EXTENSION


def _holds_text(file: Path) -> bool:
    """Check if the beginning of a file is text. An unreadable file causes an error later.

    A blank file is not: a mount point often holds one while the disk is away.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return False
        with file.open("rb") as content:
            head = content.read(_SEEN_BYTES)
            return bool(head.strip()) and is_text(head)
    except OSError:
        return True


def is_empty(file: Path) -> bool:
    """Check if a file is empty or blank. An unreadable file is not, and causes an error later."""
    try:
        return stat.S_ISREG(file.stat().st_mode) and _is_blank(file)
    except OSError:
        return False


def _is_blank(file: Path) -> bool:
    with file.open("rb") as content:
        beginning = content.read(_SEEN_BYTES).removeprefix(BOM_UTF8)
        while not beginning or beginning.isspace():
            if not (beginning := content.read(_SEEN_BYTES)):
                return True
    return False


def _list_below(
    path: Path,
    prefix: str,
    selection: FileSelection,
    passed_over: Callable[[Path], bool],
    chosen: FolderFilter | None,
) -> Iterator[Path]:
    if not path.exists():
        if path.parts[:1] in {("http:",), ("https:",)}:
            raise InvalidInput("kg does not fetch web pages. Save the page, and ingest the file")
        raise InvalidInput(f"{to_printable(path)}: no such file or folder")
    if not path.is_dir():
        yield path
        return

    def unlisted(error: OSError) -> None:
        below = Path(error.filename).relative_to(path)
        beginning = normalize_document_name(prefix + (f"{below.as_posix()}/" if below.parts else ""))
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
    """Check if to search a folder, and record the reason if not."""
    if passed_over(folder):
        selection.skip(folder, "folder of kg itself")
        return False
    if chosen and (reason := chosen.find_reason(folder, is_folder=True)):
        selection.skip(folder, f"folder {reason}")
        return False
    if folder.is_symlink():  # `os.walk` does not follow links
        selection.skip(folder, "link to a folder")
    return True


def _take(file: FileToIngest, owners: dict[str, Path], selection: FileSelection) -> None:
    problem = _find_problem(file)
    owner = None if problem else owners.setdefault(file.document, file.path)
    if owner is file.path:
        selection.files.append(file)
    elif owner is not None and not owner.samefile(file.path):
        problem = (
            f"the name {file.document!r} is used by {to_printable(owner)}. Ingest this file "
            "separately with --prefix"
        )
    if problem:
        selection.problems.append(FileProblem(to_printable(file.path), problem, file.document))


def _find_problem(file: FileToIngest) -> str | None:
    """Return the reason why a file cannot be read. Reading a pipe or a device would block."""
    try:
        file.document.encode()
        regular = stat.S_ISREG(file.path.stat().st_mode)
    except UnicodeEncodeError:
        return "the file name is not valid UTF-8. Rename the file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if regular else "cannot be read: the path is a pipe, a socket, or a device, not a file"
