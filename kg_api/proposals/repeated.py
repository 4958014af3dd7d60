"""Texts that many documents repeat, and texts that say too little. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kg_api.search.rank.duplicates import Phrase, phrases_of

MIN_SHARED: Final = 0.35
"""Of the phrases of a text, the share that another one repeats."""
MAX_REPEATING: Final = 1
"""Other documents that may repeat a text: what more repeat is no finding."""
MIN_FORM: Final = 0.1
"""The same where the sections have the same name: less is enough to tell a form."""
MIN_PHRASES: Final = 12
"""Of a text that says enough: about so many words."""
MIN_LETTERS: Final = 0.72
"""Of the characters of a text that are no blanks: prose has 0.9, listings and data 0.6 to 0.7."""
MAX_FIELDS: Final = 0.5
"""Of the lines of a text, the share that may be `Name: value`."""
COPIED: Final = 0.7
"""Of the phrases of the shorter of two, the share that makes it a copy of the other."""
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_VISIBLE = regex.compile(r"\S")
_FIELD = regex.compile(r"^\p{L}[\p{L}-]*:(\s|$)", regex.MULTILINE)
_LINE = regex.compile(r"^\s*\S", regex.MULTILINE)


def says_enough(text: str) -> bool:
    """Whether a text is prose, more than a heading, a line of a list, a listing or a table of fields."""
    return (
        len(phrases_of(text)) >= MIN_PHRASES
        and _count(_LETTER, text) >= MIN_LETTERS * _count(_VISIBLE, text)
        and _count(_FIELD, text) <= MAX_FIELDS * _count(_LINE, text)
    )


@dataclass(frozen=True, slots=True)
class PlacedText:
    document_id: str
    heading: Sequence[str]
    """The path of headings above it."""
    text: str


def is_repeated(own: PlacedText, others: Iterable[PlacedText]) -> bool:
    """Whether several other documents have much of a text's phrases, as of a licence.

    Of a section that has the same name there, as acknowledgements, less of them makes it one of a form.
    """
    phrases = phrases_of(own.text)
    repeating = {
        other.document_id
        for other in others
        if _shared(phrases, phrases_of(other.text)) >= (MIN_FORM if _same_section(own, other) else MIN_SHARED)
    }
    return len(repeating) > MAX_REPEATING


def is_copy(one: str, other: str) -> bool:
    """Whether one of two texts is mostly in the other: a link would say nothing new."""
    a, b = phrases_of(one), phrases_of(other)
    return len(a & b) >= COPIED * min(len(a), len(b))


def _same_section(own: PlacedText, other: PlacedText) -> bool:
    names = [each.heading[-1].casefold() if each.heading else "" for each in (own, other)]
    return bool(names[0]) and names[0] == names[1]


def _shared(own: frozenset[Phrase], other: frozenset[Phrase]) -> float:
    return len(own & other) / len(own)


def _count(pattern: regex.Pattern[str], text: str) -> int:
    return len(pattern.findall(text))
