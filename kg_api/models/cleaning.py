"""Texts of strangers as one line that shows all it says. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_BLANK = {"Cc", "Zl", "Zp"}
"""Control characters and ends of lines and paragraphs: they part words."""
_UNSEEN = {"Cf", "Cs"}
"""What formats or turns the direction of text, and halves of characters: nobody sees them."""
_TAGS = range(0xE0000, 0xE0080)
"""Letters that are never shown; some of them are not assigned."""
_JOINERS = "\u200c\u200d"
"""Between letters they belong to the spelling, as in Persian and Hindi."""


def one_line(text: str) -> str:
    """The text with single blanks, without characters that nobody sees."""
    return " ".join((text if text.isprintable() else "".join(_visible_characters(text))).split())


def _visible_characters(text: str) -> Iterator[str]:
    for at, character in enumerate(text):
        kind = unicodedata.category(character)
        if kind in _BLANK:
            yield " "
        elif _is_joiner(text, at) or (kind not in _UNSEEN and ord(character) not in _TAGS):
            yield character


def _is_joiner(text: str, at: int) -> bool:
    return text[at] in _JOINERS and _is_letter(text[at - 1 : at]) and _is_letter(text[at + 1 : at + 2])


def _is_letter(character: str) -> bool:
    """Whether it is one, or a mark on one."""
    return bool(character) and unicodedata.category(character)[0] in "LM"
