"""Bounds of a JSON text, checked on its bytes before any object is made of it.

`[[],[],...]` of 60 MB would become twenty million lists: a minute and two gigabytes. What counts is counted
in windows, so that other threads, and the event loop with them, have their turn between two of them.
"""

from __future__ import annotations

import re

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Values in one body; the longest conversation has 40,000."""
WINDOW = 64 * 1024
_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_OPENING = frozenset(b"[{")


class OutOfBounds(ValueError):
    """The text is nested too deeply, or has too many values."""

    status = 400


class TooManyValues(OutOfBounds):
    """More than any request needs: as with too many bytes, nothing is wrong but the size."""

    status = 413


def check_bounds(content: bytes) -> None:
    """Check depth and number of values; whether it is JSON at all is left to the parser.

    Raises:
        OutOfBounds: saying which bound.
    """
    if len(content) <= MAX_VALUES and content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return  # every usual request
    counting, at, end = _Counting(), 0, len(content)
    while at < end:
        quote = content.find(b'"', at, at + WINDOW)
        until = min(at + WINDOW, end) if quote < 0 else quote
        counting.add(content[at:until])
        at = until if quote < 0 else _behind_string(content, quote + 1)


def _behind_string(content: bytes, at: int) -> int:
    """The place behind the string whose first character stands at `at`."""
    while at < len(content):
        match = _IN_STRING.match(content, at, at + WINDOW)
        found = at if match is None else match.end()
        if content[found : found + 1] == b'"':
            return found + 1
        at = max(found, at + 1)
    return at


class _Counting:
    """Counts what stands outside of strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._values = 1

    def add(self, part: bytes) -> None:
        self._values += part.count(b",") + part.count(b"[") + part.count(b"{")
        if self._values > MAX_VALUES:
            raise TooManyValues(f"has more than {MAX_VALUES:,} values; send it in parts")
        for bracket in _BRACKETS.findall(part):
            self._depth += 1 if bracket[0] in _OPENING else -1
            if self._depth > MAX_DEPTH:
                raise OutOfBounds(f"is nested too deeply: more than {MAX_DEPTH} levels")
