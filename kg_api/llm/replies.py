"""The list of objects in what a language model writes, read as it comes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

MOST_CHARACTERS = 200_000
"""Of an answer so many are read."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]+")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LIST = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")


def objects(pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Give the objects of the first list of objects in an answer, each as soon as it is whole.

    Thoughts, chatter before the list and what follows it are passed over; a list that breaks off gives what
    is whole.

    Args:
        pieces: the answer; more of it is asked for only when it is needed.
    """
    decoder = json.JSONDecoder(strict=False)
    text, at = "", -1
    for piece in pieces:
        text += piece
        if at < 0:
            at = _begin(text)
        while at >= 0 and "}" in piece:
            at = _BETWEEN.match(text, at).end()  # pyright: ignore[reportOptionalMemberAccess] - it may be empty
            if text[at : at + 1] == "]":
                return
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            if isinstance(value, dict):
                yield cast("dict[str, Any]", value)
        if len(text) > MOST_CHARACTERS:
            return


def line(value: object, longest: int) -> str:
    """A string of an answer as one clean line, cut; empty when it is none."""
    return " ".join(_CONTROLS.sub(" ", value).split())[:longest].rstrip() if isinstance(value, str) else ""


def _begin(text: str) -> int:
    """Where a list begins; -1 while there is none. Thoughts, even without an end, are passed over."""
    hidden = _THOUGHTS.sub(lambda thought: " " * len(thought[0]), text)
    found = _LIST.search(hidden)
    return found.end() if found else -1
