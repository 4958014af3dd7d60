"""Phrases of scripts without spaces between words: of Chinese by its words, of Japanese by its script.

Of Thai, Lao, Khmer and Burmese no phrase is given: what stands there in Latin letters is found as elsewhere
(adr/0083).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from kg_api.extract.keyphrase.background import simplify, zipf
from kg_api.extract.keyphrase.phrases import Candidate
from kg_api.extract.keyphrase.spaceless.chinese import chinese_phrases
from kg_api.extract.keyphrase.spaceless.japanese import japanese_phrases
from kg_api.extract.keyphrase.words import Token
from kg_api.wording.scripts import UNSPACED

_UNSPACED = regex.compile(rf"[{UNSPACED}]")
_HAN = regex.compile(r"\p{Han}")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_HIRAGANA = regex.compile(r"\p{Hiragana}")
_JAPANESE = 0.1
"""Share of hiragana among what is written without spaces, from which a text is Japanese."""
_QUOTED = 0.2
"""A sentence with a smaller share of such letters is of another language that quotes a name."""
_USUAL, _STEP, _LIGHT = 5.0, 2.0, 0.25
"""A word as common as the first weighs the last; one that is rarer by the second a tenth of it."""

Line = Sequence[Token]


@dataclass(frozen=True, slots=True)
class SpacelessPhrase:
    """A phrase, where it stands, and what its words weigh."""

    sentence: int
    """Its place among those read."""
    phrase: Candidate
    weights: dict[str, float]
    """By word: the less, the more it says of its document, above 0."""


def spaceless_phrases(sentences: Sequence[Line]) -> Iterator[SpacelessPhrase]:
    """Give the phrases of sentences that are written without spaces, in order."""
    texts = [_text(each) for each in sentences]
    all_japanese = _is_japanese("".join(texts))
    for at, text in enumerate(texts):
        language = _language(text, all_japanese=all_japanese)
        find = _FIND.get(language)
        for words, is_sure in find(text) if find else ():
            said = Candidate(tuple(_tokens(sentences[at], text, words)), is_sure=is_sure, is_typical=True)
            yield SpacelessPhrase(at, said, {key: _weight(key, language) for key in said.keys})


def _find_chinese(text: str) -> Iterator[tuple[tuple[tuple[int, int], ...], bool]]:
    """In traditional characters, too."""
    return chinese_phrases(simplify(text))


_FIND = {"ja": japanese_phrases, "zh": _find_chinese}


def _tokens(sentence: Line, text: str, words: Sequence[tuple[int, int]]) -> Iterator[Token]:
    begin = sentence[0].start
    return (Token(text[start:end], begin + start, begin + end, is_word=True) for start, end in words)


def _text(sentence: Line) -> str:
    """What a sentence says, at its own offsets, with a space for what is no token."""
    said = list[str]()
    end = sentence[0].start if sentence else 0
    for token in sentence:
        said += [" " * (token.start - end), token.text]
        end = token.end
    return "".join(said)


def _language(text: str, *, all_japanese: bool) -> str:
    """Of a sentence: Chinese is what has no kana and does not stand among Japanese; else none."""
    if len(_UNSPACED.findall(text)) < sum(map(str.isalpha, text)) * _QUOTED:
        return ""
    if _KANA.search(text):
        return "ja" if all_japanese or _is_japanese(text) or not _HAN.search(text) else "zh"
    if not _HAN.search(text):
        return ""
    return "ja" if all_japanese else "zh"


def _is_japanese(text: str) -> bool:
    kana, han = len(_HIRAGANA.findall(text)), len(_HAN.findall(text))
    return kana > (kana + han) * _JAPANESE


def _weight(word: str, language: str) -> float:
    known = zipf(simplify(word) if language == "zh" else word, language) or _USUAL
    return _LIGHT * 10 ** ((known - _USUAL) / _STEP)
