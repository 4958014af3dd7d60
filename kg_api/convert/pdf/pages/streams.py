"""Texts as streams of letters, without case, accents, marks, blanks and hyphens. Pure.

So a passage is compared with the page that it was made of, whatever was joined, divided or left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

_ACCENTS = frozenset({"Mn", "Sk", "Lm"})
"""Categories of what is drawn upon or beside a letter; it divides no word."""


@lru_cache(4096)
def plain(letter: str) -> str:
    """What a letter is compared by: of a ligature its letters, of an accent or a mark nothing."""
    apart = unicodedata.normalize("NFKD", letter).casefold()
    return "".join(each for each in apart if each.isalnum() and unicodedata.category(each) not in _ACCENTS)


@lru_cache(4096)
def _divides(letter: str) -> bool:
    return letter != "" and any(unicodedata.category(each) not in _ACCENTS for each in letter)


@dataclass(slots=True)
class LetterStream:
    """Letters in their order, and where each comes from."""

    text: str = ""
    origin: list[int] = field(default_factory=list[int])
    """By place in the stream: the number of the character that it was."""
    words: list[int] = field(default_factory=list[int])
    """By place in the stream: the number of its word."""
    begins: list[int] = field(default_factory=list[int])
    """By word: where it begins in the stream."""

    @classmethod
    def of(cls, letters: Iterable[str]) -> LetterStream:
        """Read letters; what is no letter and no digit divides words, an accent does not."""
        made, texts, apart = cls(), list[str](), True
        for number, letter in enumerate(letters):
            said = plain(letter)
            if said:
                if apart:
                    made.begins.append(len(made.origin))
                texts.append(said)
                made.origin += [number] * len(said)
                made.words += [len(made.begins) - 1] * len(said)
            apart = not said and (apart or _divides(letter))
        made.text = "".join(texts)
        return made

    def word(self, number: int) -> str:
        return self.text[self.begins[number] : self.end(number)]

    def end(self, number: int) -> int:
        """Behind the last letter of a word."""
        return self.begins[number + 1] if number + 1 < len(self.begins) else len(self.text)
