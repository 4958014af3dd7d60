"""Characters that a reader does not see and a model reads all the same. Pure."""

from __future__ import annotations

import re

_RANGES = {
    "zero_width": "\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0",
    "joiner": "\u200c\u200d",  # emoji and some scripts need them
    "bidirectional": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "tag": "\U000e0000-\U000e007f\U000e0100-\U000e01ef",  # whole sentences can be written in them
    "control": "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
}
_ANY = re.compile("|".join(f"(?P<{kind}>[{characters}])" for kind, characters in _RANGES.items()))


def invisible_in(text: str) -> list[str]:
    """The kinds of them that a text holds."""
    if text.isascii() and text.isprintable():
        return []
    found = {match.lastgroup for match in _ANY.finditer(text)}
    return [kind for kind in _RANGES if kind in found]
