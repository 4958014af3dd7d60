"""Which files of a folder a person does not want: what .gitignore says, and patterns that are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from kg_api.errors import InvalidInput

IGNORED = "ignored by .gitignore"
EXCLUDED = "excluded by --exclude"
NOT_INCLUDED = "not named by --include"
EMPTY = "empty file"
_MAX_BYTES = 1_000_000
"""Of a .gitignore that is read."""


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What is wanted of folders. Patterns are those of .gitignore, relative to the folder that is named."""

    include: Sequence[str] = ()
    """Only files that one of them fits; none: all."""
    exclude: Sequence[str] = ()
    gitignore: bool = True
    """Whether files that git would ignore are left out."""


class FolderFilter:
    """The rules, for one folder that a person named."""

    def __init__(self, root: Path, rules: FolderRules) -> None:
        """Read the .gitignore files above the folder, up to the repository that it is in.

        Raises:
            InvalidInput: a pattern is none.
        """
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
