"""The files of the pictures that a document names: none that lies out of the folder that was given."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from kg_api.models.library.formats import CONVERTED, Format
from kg_api.parse.beside.naming import references_of
from kg_api.parse.images import is_image

MAX_BYTES = 50_000_000
"""Of all pictures that are sent with one document."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NAMING: dict[Format, frozenset[str]] = {
    "markdown": frozenset({".md", ".markdown"}),
    "html": CONVERTED["html"],
}

ReadFile = Callable[[Path, int], bytes]
"""Reads a file of so many bytes at most; raises OSError."""


@dataclass(slots=True)
class FilesBeside:
    """Pictures by their keys, as far as they are there."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    missing: list[str] = field(default_factory=list[str])


def find_beside(
    document: Path, root: Path, key: str, is_private: Callable[[Path], bool] = lambda _: False
) -> Path | None:
    """The file that a document names, links resolved; None: it is not there, or not within the folder.

    Args:
        document: the file that names it.
        root: the folder that was given, links resolved.
        key: as `key_of` gives it.
        is_private: whether a folder is one of kg's own.
    """
    try:
        found = (document.parent / key).resolve(strict=True)
        if not found.is_relative_to(root) or not stat.S_ISREG(found.stat().st_mode):
            return None
    except (OSError, RuntimeError, ValueError):
        return None
    hidden = any(part.startswith(".") for part in found.relative_to(root).parts)
    return None if hidden or any(map(is_private, found.parents)) else found


def read_beside(
    paths: Iterable[tuple[str, Path | None]], read: ReadFile, most: int = MAX_BYTES
) -> FilesBeside:
    """Read pictures; what is none, is not there or is too much is missing.

    Args:
        paths: their keys with their files.
        read: how a file is read.
        most: bytes of all together.
    """
    found, left = FilesBeside(), most
    for key, path in paths:
        try:
            content = read(path, left) if path else b""
        except OSError:
            content = b""
        if not is_image(content) or len(content) > left:
            found.missing.append(key)
            continue
        found.files[key] = content
        left -= len(content)
    return found


def read_regular(path: Path, most: int) -> bytes:
    """Read a file of so many bytes at most, which is no link, pipe or device.

    Raises:
        OSError: it cannot be read, or is larger.
    """
    with open(os.open(path, _FLAGS), "rb") as file:  # noqa: PTH123 - a handle, not a path
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > most:
            raise OSError("it is no file, or too large")
        return file.read(most + 1)


def references_in(content: bytes, name: str) -> tuple[str, ...]:
    """The keys of the pictures that a file names, by what its name says that it is."""
    kind = PurePath(name).suffix.lower()
    for form, suffixes in _NAMING.items():
        if kind in suffixes:
            return references_of(content, form)
    return ()


def files_beside(document: Path, root: Path, content: bytes) -> dict[str, bytes]:
    """The pictures that a document names, as far as they are there.

    Args:
        document: the file.
        root: the folder that was given, links resolved.
        content: of the document.
    """
    keys = references_in(content, document.name)
    return read_beside(((key, find_beside(document, root, key)) for key in keys), read_regular).files
