"""The objects in what a language model writes: read as it comes, or when all of it is there. Pure."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

MAX_CHARACTERS = 200_000
"""Of an answer so many are read."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]+")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_WHOLE_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_LIST = re.compile(r"\[\s*(?=\{)")
_ENDS = re.compile(r"[}\]]")
_BETWEEN = re.compile(r"[\s,]*")
"""It may be empty, so it always matches."""
_NONE = re.compile(r"\s*(?:```\w*\s*)?\[\s*\]\s*(?:```\s*)?")
_LOOKED_AT = 20
"""Brackets of an answer at which its JSON may begin: some models think or chat first."""


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
        return bool(_NONE.fullmatch(said)) or any(each.get(name) == [] for each in parse_objects(said))


def parse_objects(answer: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that begin at the first few braces of an answer, whatever stands around them."""
    return _dicts(_values(answer, r"\{"))


def parse_entries(answer: str, name: str) -> dict[str, dict[str, Any]]:
    """The objects of the list of that name, or of a list by itself, by their ids.

    Ids that are there twice are left out. None when the answer has no such list.
    """
    said = _WHOLE_THOUGHTS.sub("", answer[:MAX_CHARACTERS])
    for value in _values(said, r"[{\[]"):
        entries = as_list(cast("dict[str, object]", value).get(name) if isinstance(value, dict) else value)
        if found := [*_dicts(entries)]:
            ids = Counter(str(each.get("id")) for each in found)
            return {own: each for each in found if ids[own := str(each.get("id"))] == 1}
    return {}


def as_list(value: object) -> list[object]:
    """A list of an answer; an empty one when it is none."""
    return cast("list[object]", value) if isinstance(value, list) else []


def _values(said: str, brackets: str) -> Iterator[object]:
    decoder = json.JSONDecoder(strict=False)
    for bracket in islice(re.finditer(brackets, said), _LOOKED_AT):
        with contextlib.suppress(ValueError, RecursionError):
            yield decoder.raw_decode(said, bracket.start())[0]


def _dicts(values: Iterable[object]) -> Iterator[dict[str, Any]]:
    return (cast("dict[str, Any]", each) for each in values if isinstance(each, dict))


def line(value: object, longest: int) -> str:
    """A string of an answer as one clean line, cut; empty when it is none."""
    return " ".join(_CONTROLS.sub(" ", value).split())[:longest].rstrip() if isinstance(value, str) else ""


def _begin(text: str) -> int:
    """Where a list begins; -1 while there is none. Thoughts, even without an end, are passed over."""
    hidden = _THOUGHTS.sub(lambda thought: " " * len(thought[0]), text)
    found = _LIST.search(hidden)
    return found.end() if found else -1
