"""Small files that only their owner may read, written so that a reader never sees half of one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from kg_api.files.whole import FOLDER_MODE, write_whole


def make_folder(path: Path) -> Path:
    """Create a folder, and those above it, for the owner alone.

    Raises:
        OSError: it cannot be created, or is a file.
    """
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file with mode 0600: all of it or, when interrupted, nothing.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full.
    """
    write_whole(path, text.encode(), prefix=f".{path.name}.")


def create_text(path: Path, text: str) -> None:
    """Write a file with mode 0600 unless another process creates it first.

    Raises:
        OSError: as in `write_text`.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not read_text(path):  # a process was killed between creating and writing it
            write_text(path, text)
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def keep_text(path: Path, text: str) -> None:
    """Write a file unless it holds that text already: so a full disk is no hindrance when nothing changed.

    Raises:
        OSError: as in `write_text`.
    """
    if read_text(path) != text:
        write_text(path, text)


def rewrite_json(path: Path, value: object) -> None:
    """Write JSON; on a full disk over what the file holds already, which needs no room.

    Raises:
        OSError: that cannot be done either.
    """
    try:
        write_json(path, value)
    except OSError:
        with path.open("r+", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=1) + "\n")
            file.truncate()


def read_text(path: Path) -> str | None:
    """Give the file's text; None when there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write_json(path: Path, value: object) -> None:
    """Write JSON the way `write_text` does."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Give the object in a file; an empty one when it is missing or was damaged."""
    try:
        value: Any = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
