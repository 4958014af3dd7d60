"""Plurals and page numbers for messages, letters with their marks, weaker results, and host names."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

# Plurals


def pluralize(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def are(number: int) -> str:
    return "is" if number == 1 else "are"


def was(number: int) -> str:
    return "was" if number == 1 else "were"


# Messages of several modules


def build_install_command(*extras: str) -> str:
    # Without -e, pip replaces the link to the checkout by a copy, and kg ignores every `git pull`.
    return f".venv/bin/python -m pip install -e '.[{','.join(extras)}]'"


def describe_missing_paragraph(document: str, paragraph: int, sources: int) -> str:
    return f"{document!r} has no paragraph {paragraph}. The last one is {sources - 1}"


# Pages


def describe_ocr(confidence: float | None) -> str:
    return "OCR" if confidence is None else f"OCR, confidence {confidence:.2f}"


def name_pages(numbers: Sequence[int]) -> str:
    """Return `page 3`, or `pages 2-3, 5` for sorted numbers."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    ranges = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"page {ranges}" if len(numbers) == 1 else f"pages {ranges}"


# Letters

MAX_MARKS: Final = 24
"""Limit in code points. The longest emoji has 10, and more marks on a letter are abuse."""

_OTHER_MARKS: Final = re.compile(
    "[\u200d\u0e33\u0eb3\u1160-\u11ff\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
"""Marks that Unicode counts as other characters: the joiner, `am` of Thai and Lao, later parts of Korean
syllables, voiced sounds of narrow Katakana, skin tones, and the tags of regional flags."""
_VIRAMA: Final = 9  # combining class
_FLAG_LETTERS: Final = frozenset(map(chr, range(0x1F1E6, 0x1F200)))


def continues_letter(character: str) -> bool:
    """Check for a mark such as a vowel sign of Hindi, a joiner, or a later part of a Korean syllable."""
    return unicodedata.category(character)[0] == "M" or _OTHER_MARKS.match(character) is not None


def _joins(mark: str, character: str) -> bool:
    """Check for a joiner, or a virama that joins two consonants, as in Hindi `kṣa`."""
    return mark == "\u200d" or (unicodedata.combining(mark) == _VIRAMA and character.isalpha())


def find_letter_start(text: str, at: int) -> int:
    """Return the position, or the start of a letter with marks, a joined emoji, or a flag around it."""
    start = at
    while max(0, at - MAX_MARKS) < start < len(text) and (
        continues_letter(text[start]) or _joins(text[start - 1], text[start])
    ):
        start -= 1
    flags = start
    if start < len(text) and text[start] in _FLAG_LETTERS:  # of two letters each, without a separator
        while flags > 0 and text[flags - 1] in _FLAG_LETTERS:
            flags -= 1
    return start - (start - flags) % 2


def shorten(text: str, size: int) -> str:
    """Return at most `size` characters. A shortened text ends with an ellipsis."""
    return text if len(text) <= size else f"{text[: find_letter_start(text, size)]}…"


# Weaker results

MIN_DROPS: Final = 2  # two hits are too few for a gap
GAP: Final = 0.15  # minimum drop before weaker hits, as a share of the best score


def find_gap(scores: Sequence[float]) -> int | None:
    """Find the index of the first weaker hit, after a drop by more than half of the score range."""
    drops = [better - worse for better, worse in pairwise(scores)]
    if len(drops) < MIN_DROPS or min(drops) < 0:  # diversified hits are not ordered by score
        return None
    largest = max(drops)
    clear = largest > (scores[0] - scores[-1]) / 2 and largest > GAP * abs(scores[0])
    return drops.index(largest) + 1 if clear else None


# Hosts

HOME_HEADER = "KG-Home"
"""Header with the home (`Home.read_instance`) of the requested service, and of the responding service."""


@lru_cache(1000)
def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
