"""Sentence boundaries by sentencex, in time linear in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TypedDict, cast

import sentencex

_WINDOW = 3000
"""Characters per call of sentencex, which takes quadratic time on text with many closed quotes or CJK."""
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("hy", re.compile("[\u0530-\u058f]")),
    ("am", re.compile("[\u1200-\u137f]")),
    ("my", re.compile("[\u1000-\u109f]")),
)
_A_SCRIPT = 0.2  # minimum share of the characters of a script
_COMMON_WORDS = {
    "en": "the of and to in is that it for was with as on are this be by",
    "de": "der die und das ist nicht ein eine zu den mit von auf dem im für sich",
    "fr": "le la les et des est une dans que qui pour pas sur du au ce par",
    "es": "el la los las que y en un una es por con para del se no como",
    "it": "il la di che e un una è per non con del della sono gli nel si",
    "pt": "o a os as que e um uma é por com para do da não em no",
    "nl": "de het een en van is dat niet op te in voor met zijn er aan",
    "pl": "i w na z że się nie do jest to o jak po co od za dla",
}
_COMMON = {language: frozenset(words.split()) for language, words in _COMMON_WORDS.items()}


class _Sentence(TypedDict):
    """Sentence from sentencex, with offsets in code points."""

    start_index: int
    text: str


def find_sentence_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets within text[start:end] where a sentence begins, without `start`."""
    language = guess_language(text[start : start + _WINDOW])
    while start < end:
        stop = min(start + _WINDOW, end)
        borders = [start + at for at in _find_sentence_starts(language, text[start:stop]) if at]
        if stop < end:  # the last sentence may be incomplete, so restart with it if it is in the second half
            stop = borders.pop() if borders and borders[-1] > start + _WINDOW // 2 else stop
            borders.append(stop)
        yield from borders
        start = stop


def guess_language(sample: str) -> str:
    """Return the language by script, then by its most frequent words (default: 'en')."""
    for language, script in () if sample.isascii() else _SCRIPTS:
        if len(script.findall(sample)) > len(sample) * _A_SCRIPT:
            return language
    found = Counter(sample.lower().split())
    counts = {
        language: sum(found[word] for word in found.keys() & common) for language, common in _COMMON.items()
    }
    return max(counts, key=counts.__getitem__)


def _find_sentence_starts(language: str, text: str) -> Iterator[int]:
    found = cast(
        "list[_Sentence]",
        sentencex.get_sentence_boundaries(language, text),  # pyright: ignore[reportAttributeAccessIssue] - no stubs
    )
    for sentence in found:
        if not sentence["text"].isspace():  # sentencex returns a blank line as a sentence
            yield sentence["start_index"]
