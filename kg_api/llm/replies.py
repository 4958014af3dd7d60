"""The list of objects in what a language model writes, read as it comes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

MAX_CHARACTERS = 200_000
"""Of an answer so many are read."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]+")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LIST = re.compile(r"\[\s*(?=\{)")
_ENDS = re.compile(r"[}\]]")
_BETWEEN = re.compile(r"[\s,]*")
"""It may be empty, so it always matches."""
_NONE = re.compile(r"\s*(?:```\w*\s*)?\[\s*\]\s*(?:```\s*)?")
_LOOKED_AT = 20
"""Braces of an answer at which its JSON may begin: some models think or chat first."""


def objects(pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Give the objects of the first list of objects in an answer, each as soon as it is whole.

    Thoughts, chatter before the list and what follows it are passed over; a list that breaks off gives what
    is whole.

    Args:
        pieces: the answer; more of it is asked for only when it is needed.
    """
    return ObjectReader().objects(pieces)


class ObjectReader:
    """Reads one answer, and knows afterwards whether it was what was asked for."""

    def __init__(self) -> None:
        self.found = False
        """There is a list of objects."""
        self.complete = False
        """It was read to its end; else it breaks off, is not JSON, or is longer than anybody reads."""
        self._text = ""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was written, but perhaps thoughts."""
        return not _THOUGHTS.sub("", self._text).strip()

    def objects(self, pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
        """See the function `objects`."""
        decoder, at = json.JSONDecoder(strict=False), -1
        for piece in pieces:
            self._text += piece
            if at < 0:
                at = _begin(self._text)
                self.found = at >= 0
            while at >= 0 and _ENDS.search(piece):
                at = _BETWEEN.match(self._text, at).end()  # pyright: ignore[reportOptionalMemberAccess]
                if self._text[at : at + 1] == "]":
                    self.complete = True
                    return
                try:
                    value, at = decoder.raw_decode(self._text, at)
                except (ValueError, RecursionError):
                    break
                if isinstance(value, dict):
                    yield cast("dict[str, Any]", value)
            if len(self._text) > MAX_CHARACTERS:
                return

    def says_none(self, name: str) -> bool:
        """Whether the answer is an empty list, by itself or of that name."""
        said = _THOUGHTS.sub("", self._text)
        if _NONE.fullmatch(said):
            return True
        decoder = json.JSONDecoder(strict=False)
        for brace in list(re.finditer(r"\{", said))[:_LOOKED_AT]:
            try:
                value, _ = decoder.raw_decode(said, brace.start())
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and cast("dict[str, object]", value).get(name) == []:
                return True
        return False


def line(value: object, longest: int) -> str:
    """A string of an answer as one clean line, cut; empty when it is none."""
    return " ".join(_CONTROLS.sub(" ", value).split())[:longest].rstrip() if isinstance(value, str) else ""


def _begin(text: str) -> int:
    """Where a list begins; -1 while there is none. Thoughts, even without an end, are passed over."""
    hidden = _THOUGHTS.sub(lambda thought: " " * len(thought[0]), text)
    found = _LIST.search(hidden)
    return found.end() if found else -1
