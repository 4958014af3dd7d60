"""Phrases of Japanese: runs of Chinese characters and katakana are nouns, hiragana stands between them."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from kg_api.extract.keyphrase.background import is_rare

_RUN = regex.compile(r"[\p{Han}\p{Katakana}ー々ヶ]{2,24}+")
_NUMERALS = "一二三四五六七八九十百千万億兆〇数第"
_COUNTED = regex.compile(
    rf"[{_NUMERALS}]+(?:年間|時間|世紀|種類|[ヶカか]月|[年月日円人回件時分秒度個倍割名歳枚本点条項章])*"
)
"""Numbers with what they count."""
_BEHIND_NOUN = regex.compile(
    r"(?:は|が|を|に|の|で|と|も|や|へ|から|まで|より|など|だ(?!け)|[^\p{Hiragana}]|$)"
)
"""What stands behind a noun: a particle, a mark or nothing; others are endings of verbs and adjectives."""
_ADVERBS = "的"
"""Its last character makes no noun of a run."""

Place = tuple[int, int]
"""Of a word."""


def japanese_phrases(text: str) -> Iterator[tuple[tuple[Place, ...], bool]]:
    """Give the phrases of a sentence: their words, and whether they are terms though said once."""
    for run in _RUN.finditer(text):
        if not _BEHIND_NOUN.match(text, run.end()):
            continue
        start, end = _without_numbers(text, run.start(), run.end())
        said = text[start:end]
        if len(said) > 1 and said[-1] not in _ADVERBS:
            yield ((start, end),), is_rare(said, "ja")


def _without_numbers(text: str, start: int, end: int) -> Place:
    """The place of a run without the numbers at its beginning, and up to those within it."""
    leading = _COUNTED.match(text, start, end)
    if leading:
        start = leading.end()
    within = _COUNTED.search(text, start, end)
    return start, within.start() if within else end
