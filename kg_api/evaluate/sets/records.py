"""Lines of JSON and of tab-separated values, with their place for those who have to mend them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kg_api.errors import InvalidInput
from kg_api.models.base import storable


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a file."""

    path: Path
    line: int
    fields: dict[str, Any]

    def wrong(self, what: str) -> InvalidInput:
        """An error that says where."""
        return wrong(self.path, self.line, what)

    def text(self, name: str, *, default: str | None = None) -> str:
        """A field that is text; numbers are taken for `_id` alone.

        Raises:
            InvalidInput: it is missing, or no text that can be stored.
        """
        value = self.fields.get(name, default)
        if name == "_id" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is {'missing' if value is None else 'no text'}")
        try:
            return storable(value)
        except ValueError as error:
            raise self.wrong(f"{name!r} {error}") from None


def wrong(path: Path, line: int, what: str) -> InvalidInput:
    """An error that says where."""
    return InvalidInput(f"{path}, line {line}: {what}")


def json_lines(path: Path) -> Iterator[Record]:
    """Give the objects of a JSONL file; blank lines are passed over.

    Raises:
        InvalidInput: the file cannot be read, or a line is no JSON object.
    """
    for number, line in lines(path):
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wrong(path, number, f"this is not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise wrong(path, number, "this is not a JSON object")
        yield Record(path, number, cast("dict[str, Any]", value))


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file that are not blank, with their numbers, from 1."""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            yield number, line


def text_of(path: Path) -> str:
    """Read a file's text as it is; a byte-order mark is left out.

    Raises:
        InvalidInput: it is not there, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: byte {error.start} is not valid UTF-8") from None
