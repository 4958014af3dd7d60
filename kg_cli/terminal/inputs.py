"""Reading texts and conversations from a file or from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from kg_api.errors import InvalidInput, UnreadableDocument
from kg_api.parse.decode import decode

STDIN = Path("-")
_EXAMPLE = '{"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": "Hello"}'


def read_text(path: Path) -> str:
    """The text of a file in any encoding that kg reads; `-` is standard input.

    Raises:
        UnreadableDocument: it cannot be read, or is no text.
    """
    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror or error}") from error
    return decode(content)[0]


def read_messages(path: Path) -> list[dict[str, Any]]:
    """The messages of a file: a JSON list, an object with `messages`, or JSON Lines with one on each.

    Raises:
        UnreadableDocument: the file cannot be read.
        InvalidInput: it holds something else; the message shows what a message is like.
    """
    text = read_text(path)
    try:
        found = json.loads(text)
    except ValueError:
        found = _lines(text, path)
    except RecursionError:
        raise _wrong(path, "is nested too deeply") from None
    if isinstance(found, dict):  # an object with messages, or a single line of JSON Lines
        table = cast("dict[str, Any]", found)
        found = table.get("messages", [table])
    messages = cast("list[Any]", found) if isinstance(found, list) else [found]
    if not all(isinstance(each, dict) for each in messages):
        raise _wrong(path, "holds something that is no message")
    return messages


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file; `-` is standard input.

    Raises:
        UnreadableDocument: the file cannot be read.
        InvalidInput: it holds something else.
    """
    name = "standard input" if path == STDIN else str(path)
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{name} holds no JSON object; write {{...}}")
    return cast("dict[str, Any]", found)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, counted from 1."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _lines(text: str, path: Path) -> list[Any]:
    messages: list[Any] = []
    for number, line in numbered_lines(text):
        try:
            messages.append(json.loads(line))
        except (ValueError, RecursionError):
            raise _wrong(path, f"line {number} is not valid JSON") from None
    return messages


def _wrong(path: Path, why: str) -> InvalidInput:
    name = "standard input" if path == STDIN else str(path)
    return InvalidInput(
        f"{name}: {why}. A conversation is a JSON list, or lines, of messages like {_EXAMPLE}"
    )
