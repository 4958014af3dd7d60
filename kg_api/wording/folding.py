"""Texts in which words are found but for their form: white space, quotation marks, dashes and case."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "…": "...",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    }
)
WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Scripts that write words together: anything may begin and end within."""


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text in which white space, quotation marks, dashes and case are all alike."""

    origin: str
    text: str
    places: array[int]
    """Of each character, where its origin is; and behind them the end of the text."""

    def every(self, sought: str) -> Iterator[tuple[int, int]]:
        """From where to where in the origin something stands each time, no word of it cut off."""
        start = 0
        while sought and (at := at_words(self.text, sought, start)) is not None:
            start = at + len(sought)
            yield self.span(at, start)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """From where to where in the origin a part of this stands, with what combines with its end."""
        last = self.places[end - 1] + 1
        while last < len(self.origin) and unicodedata.combining(self.origin[last]):
            last += 1
        return self.places[start], last


def fold(text: str, *, case: bool = False) -> FoldedText:
    """A text in which forms are alike.

    Args:
        text: whose.
        case: whether case stays as it is.
    """
    letters: list[str] = []
    places = array("q")
    for at, character in enumerate(text):
        alike = " " if character.isspace() else _alike(character)
        if alike == " " and letters[-1:] == [" "]:
            continue
        for each in alike if case else alike.casefold():
            letters.append(each)
            places.append(at)
    places.append(len(text))
    return FoldedText(text, "".join(letters), places)


def at_words(text: str, wanted: str, start: int) -> int | None:
    """Where `wanted` stands with no word cut off at its ends."""
    while (at := text.find(wanted, start)) >= 0:
        if not is_cut(text, at) and not is_cut(text, at + len(wanted)):
            return at
        start = at + 1
    return None


def is_cut(text: str, at: int) -> bool:
    """Whether a border there is within a word."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    joined = before.isalnum() and (behind.isalnum() or unicodedata.combining(behind) > 0)
    return joined and not (WITHOUT_BLANKS.match(before) or WITHOUT_BLANKS.match(behind))


def _alike(character: str) -> str:
    """Without the ways in which one character can be written: as one or several, wide, as a ligature."""
    return character if character.isascii() else unicodedata.normalize("NFKD", character.translate(_SAME))
