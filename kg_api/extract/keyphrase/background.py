"""How common a word is in its language at large, by the word lists that wordfreq brings."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import log10
from typing import cast

_CODES = {"no": "nb"}
"""Names of languages that wordfreq writes another way."""
_PER_BILLION = 9
_RARE = {"en": 4.2, "de": 4.2, "es": 4.1, "zh": 4.5, "ja": 4.2}
UNLISTED = 2.9
"""Of a word that is in no list: the lists end at 3."""


def zipf(word: str, language: str) -> float | None:
    """How common a folded word is: 3 is once in a million words, 6 once in a thousand.

    Returns:
        None where nothing is known of the language.
    """
    known = _frequencies(language)
    return known.get(word, UNLISTED) if known else None


def is_rare(word: str, language: str) -> bool:
    """Whether a word, by itself, belongs to a field: texts at large have it and its singular seldom."""
    folded = word.casefold()
    common = zipf(folded, language)
    if common is None:
        return False
    return max(common, zipf(folded.removesuffix("s"), language) or 0) < _RARE.get(language, 0)


def simplify(text: str) -> str:
    """Chinese in simplified characters, one for each, as the list has it."""
    return text.translate(_simplified())


@cache
def _simplified() -> Mapping[int, str]:
    """By code point. wordfreq gives it to none but its own tokenizer, which needs jieba."""
    import msgpack  # noqa: PLC0415 # with wordfreq

    packed = files("wordfreq").joinpath("data", "_chinese_mapping.msgpack.gz").read_bytes()
    return cast("Mapping[int, str]", msgpack.unpackb(gzip.decompress(packed), strict_map_key=False))


@cache
def _frequencies(language: str) -> Mapping[str, float]:
    """The list is read when a language is first met."""
    from wordfreq import available_languages, get_frequency_dict  # noqa: PLC0415 # 0.3 s and ftfy

    code = _CODES.get(language, language)
    if code not in available_languages("small"):
        return {}
    return {
        word: round(log10(share) + _PER_BILLION, 2)
        for word, share in get_frequency_dict(code, wordlist="small").items()
    }
