"""Plurals and page numbers for messages, letters with their marks, weaker results, and host names."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

import regex

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

MAX_LETTER: Final = 24
"""Limit in code points. The longest emoji has 10, and more marks on a letter are abuse."""
LETTER: Final = regex.compile(r"\X")
_TWO_LETTERS: Final = regex.compile(r"\p{Grapheme_Cluster_Break=Other}{2}")
"""Two characters without marks, which are quicker to recognize."""


def find_letter_start(text: str, at: int) -> int:
    """Return the position, or the start of the user-perceived character around it (UAX 29).

    This is a letter with its marks, such as the vowel signs of Hindi, an emoji with a skin tone, or a flag.
    """
    if not 0 < at < len(text) or _TWO_LETTERS.match(text, at - 1):
        return at
    *_, last = LETTER.finditer(text, max(0, at - MAX_LETTER), at + 1)
    return last.start()


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
