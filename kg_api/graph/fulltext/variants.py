"""Numbers and letters that people join or part: `5kg` and `5 kg`, `ISO9001` and `ISO 9001`. Pure.

Both ways are asked for, as one word and as a phrase. A phrase is exact: `5kg` does not find `7 kg`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from kg_api.graph.fulltext.forms import OMITTED
from kg_api.graph.fulltext.tokens import LATIN
from kg_api.wording.normal_form import normalise_text

MAX_VARIANTS = 32
JOINED = 2.0
"""The weight of one word that stands for two of the question."""

_NUMBER = r"\d+(?:[.,]\d+)*"
_LETTER = rf"(?:(?=[{LATIN}])[^\W\d_])"
_WORD = re.compile(rf"(?<![^\W_])(?:{_NUMBER}|{_LETTER}+)+(?![^\W_])")
_IS_NUMBER = re.compile(_NUMBER)
_QUANTITY = re.compile(rf"({_NUMBER})({_LETTER}.*)")
_CODE = re.compile(rf"({_LETTER}+)(\d.*)")
_FORMULA = re.compile(rf"(?<![\w.,])({_NUMBER})[/^]({_NUMBER})(?![\w/^])")
_BETWEEN = re.compile(r"\s?[-°^]?\s?")


class Variant(NamedTuple):
    """Another way to write a part of a question."""

    words: str
    """One word, or two with a blank between them."""
    weight: float = 1.0


def find_variants(question: str) -> list[Variant]:
    """Return the other ways to write a question's numbers and the letters next to them, the first 32."""
    normal = normalise_text(question)
    words = [*_WORD.finditer(normal)]
    apart = [each for word in words for each in _part(word[0])]
    apart += [Variant(" ".join(found.groups())) for found in _FORMULA.finditer(normal)]
    joined = (
        Variant(first[0] + last[0], JOINED)
        for first, last in pairwise(words)
        if _may_join(normal, first, last)
    )
    return [*islice(dict.fromkeys([*apart, *joined]), MAX_VARIANTS)]


def _part(word: str) -> Iterator[Variant]:
    """The index has no `a` and `in`: of `16 A` only the number can be found."""
    if quantity := _QUANTITY.fullmatch(word):
        number, unit = quantity.groups()
        yield Variant(number, 0.5) if unit.lower() in OMITTED else Variant(f"{number} {unit}")
    elif (code := _CODE.fullmatch(word)) and code[1].lower() not in OMITTED:
        yield Variant(f"{code[1]} {code[2]}")


def _may_join(text: str, first: re.Match[str], last: re.Match[str]) -> bool:
    if _BETWEEN.fullmatch(text, first.end(), last.start()) is None:
        return False
    if _IS_NUMBER.fullmatch(first[0]):
        return not last[0][0].isdecimal()
    is_said = len(first[0]) > 1 and first[0].lower() in OMITTED  # `in 2024` is no code
    return first[0].isalpha() and not is_said and _IS_NUMBER.fullmatch(last[0]) is not None
