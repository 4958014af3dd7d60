"""Texts that many documents repeat, and texts that say too little. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kg_api.search.rank.duplicates import Phrase, phrases_of

MIN_SHARED: Final = 0.5
"""Of the phrases of a text, the share that another one repeats."""
MAX_REPEATING: Final = 1
"""Other documents that may repeat a text: what more repeat is no finding."""
MIN_PHRASES: Final = 12
"""Of a text that says enough: about so many words."""
COPIED: Final = 0.7
"""Of the phrases of the shorter of two, the share that makes it a copy of the other."""


def says_enough(text: str) -> bool:
    """Whether a text is more than a heading or a line of a list."""
    return len(phrases_of(text)) >= MIN_PHRASES


def is_repeated(text: str, others: Iterable[tuple[str, str]]) -> bool:
    """Whether several other documents have most of a text's phrases.

    Args:
        text: which.
        others: document and text of what is nearest to it.
    """
    own = phrases_of(text)
    repeating = {document for document, other in others if _shared(own, phrases_of(other)) >= MIN_SHARED}
    return len(repeating) > MAX_REPEATING


def is_copy(one: str, other: str) -> bool:
    """Whether one of two texts is mostly in the other: a link would say nothing new."""
    a, b = phrases_of(one), phrases_of(other)
    return len(a & b) >= COPIED * min(len(a), len(b))


def _shared(own: frozenset[Phrase], other: frozenset[Phrase]) -> float:
    return len(own & other) / len(own)
