"""Noun phrases of Chinese and Japanese, which have no spaces between words.

rjieba splits Chinese into words with parts of speech, using jieba's dictionary and method. In Thai, Lao,
Khmer and Burmese, kg finds only phrases in Latin letters (ADR 73).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from kg_api.extraction.language import UNLISTED, Token, get_zipf_frequency, is_rare, lists, simplify
from kg_api.extraction.phrases import Phrase
from kg_api.suggestions import UNSPACED

Span = tuple[int, int]

# Chinese: nouns with the words before them

_HAN = regex.compile(r"\p{Han}+")
_NOUNS = frozenset({"ns", "nr", "nt", "nz", "nrt", "nrfg", "n", "ng", "j", "l", "g", "an"})
_BEFORE = _NOUNS | {"vn", "b"}
"""Tags before a noun, including verbs that are also nouns, and classifying adjectives."""
_VERBS = frozenset({"v", "vn"})
_UNSURE = frozenset({"zg", "q", "k"})
"""Tags of single characters that may turn the previous word into a noun: unknown, measures, suffixes."""
_BEHIND_NOUN = frozenset({"x", "c", "uj", "f"})
"""Tags of marks, conjunctions, 的 and similar words. A verb between a noun and one of them is a noun."""
_BEFORE_NOUNS = frozenset({"用", "把", "被", "对", "由", "向", "以", "通过", "经过", "的"})
"""Words after which a verb before a noun is part of its name: 通过选举算法."""
_MODALS = frozenset({"会", "可", "可以", "能", "是", "为", "应"})  # words before which a verb is a noun
_MAX_WORDS = 4
_MIN_CHARACTERS = 3  # of a phrase of several words


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    tag: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_suffix(self) -> bool:
        """Whether the word turns the previous one into a noun, as in 发表权."""
        return self.text in lists().zh_suffixes

    @property
    def is_part(self) -> bool:
        """Whether the word may be part of a phrase."""
        if self.tag not in _BEFORE or not _HAN.fullmatch(self.text):
            return False
        edges = lists().han_edges
        if self.tag == "l":
            return self.text[-1] in lists().zh_suffixes and self.text[0] not in edges
        if len(self.text) == 1 or get_zipf_frequency(self.text, "zh") != UNLISTED:
            return True
        # Unlisted words are guesses. With a particle at an end, the word is part of a clause.
        return self.text[0] not in edges and self.text[-1] not in edges


def find_chinese_phrases(text: str) -> Iterator[tuple[tuple[Span, ...], bool]]:
    """Yield the phrases of a sentence: spans of their words, and whether one mention suffices."""
    import rjieba  # noqa: PLC0415 # its dictionary is read when Chinese is first met, 0.3 s

    words, start = list[_Word](), 0
    for said, tag in rjieba.tag(simplify(text)):
        words.append(_Word(said, tag, start))
        start += len(said)
    at = 0
    while at < len(words):
        end = _find_end(words, at)
        last = end
        while last > at and not _ends_phrase(words, at, last):
            last -= 1
        run = words[at:last]
        if len(run) == 1 and len(run[0].text) > 1:
            yield ((run[0].start, run[0].end),), is_rare(run[0].text, "zh")
        elif 1 < len(run) <= _MAX_WORDS and sum(len(each.text) for each in run) >= _MIN_CHARACTERS:
            yield tuple((each.start, each.end) for each in run), True
        at = max(end, at + 1)


def _find_end(words: Sequence[_Word], at: int) -> int:
    """Return the end of the words that may form a phrase, or `at` if there are none."""
    end = at
    is_verb = words[at].tag in _VERBS and len(words[at].text) > 1
    if is_verb and at + 1 < len(words) and words[at + 1].is_suffix:
        end = at + 2
    elif 0 < at < len(words) - 1 and words[at].tag == "v" and len(words[at].text) > 1:
        behind = words[at + 1]
        if words[at - 1].text in _BEFORE_NOUNS and behind.is_part and len(behind.text) > 1:
            end = at + 1
    while end < len(words):
        each = words[end]
        is_ending = end > at and each.tag in _UNSURE and each.is_suffix  # 西岭县, 复杂性类
        if not (each.is_part or is_ending):
            break
        end += 1
    return end


def _ends_phrase(words: Sequence[_Word], at: int, end: int) -> bool:
    """Check whether the last word is a noun or ends one, as in 发表权 and 胰岛素抵抗."""
    last = words[end - 1]
    if last.tag in _NOUNS and last.text not in lists().zh_weak:
        return True
    if last.is_suffix:
        return end - 1 > at
    if last.tag != "vn" or words[end - 2].text in lists().zh_weak:
        return False
    behind = end == len(words) or words[end].tag in _BEHIND_NOUN or words[end].text in _MODALS
    return behind and (end - 1 > at or is_rare(last.text, "zh"))


# Japanese: Chinese characters and katakana form nouns, hiragana separates them

_RUN = regex.compile(r"[\p{Han}\p{Katakana}ー々ヶ]{2,24}+")
_COUNTED = regex.compile(
    r"[一二三四五六七八九十百千万億兆〇数第]+"
    r"(?:年間|時間|世紀|種類|[ヶカか]月|[年月日円人回件時分秒度個倍割名歳枚本点条項章])*"
)
"""Numbers with the counted thing."""
_BEHIND_RUN = regex.compile(
    r"(?:は|が|を|に|の|で|と|も|や|へ|から|まで|より|など|だ(?!け)|[^\p{Hiragana}]|$)"
)
"""Particle, mark or end. Other hiragana are endings of verbs and adjectives."""
_ADVERB = "的"  # last character of a run, after which it is not a noun


def find_japanese_phrases(text: str) -> Iterator[tuple[tuple[Span, ...], bool]]:
    """Yield the phrases of a sentence: spans of their words, and whether one mention suffices."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        if not _BEHIND_RUN.match(text, end):
            continue
        if number := _COUNTED.match(text, start, end):
            start = number.end()
        if number := _COUNTED.search(text, start, end):
            end = number.start()
        if end - start > 1 and text[end - 1] != _ADVERB:
            yield ((start, end),), is_rare(text[start:end], "ja")


# Chinese or Japanese sentences in a mixed text

_UNSPACED = regex.compile(rf"[{UNSPACED}]")
_HAN_LETTER = regex.compile(r"\p{Han}")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_HIRAGANA = regex.compile(r"\p{Hiragana}")
_JAPANESE = 0.1  # share of hiragana from which a text is Japanese
_QUOTED = 0.2
"""Share of unspaced letters below which a sentence is in another language and quotes a name."""


def find_spaceless_phrases(
    sentences: Sequence[Sequence[Token]],
) -> Iterator[tuple[int, Phrase, dict[str, float]]]:
    """Yield the phrases of all sentences: index of the sentence, phrase, weights of its words."""
    texts = [_join(each) for each in sentences]
    all_japanese = _is_japanese("".join(texts))
    for at, text in enumerate(texts):
        language = _detect(text, all_japanese=all_japanese)
        if not language:
            continue
        find = find_japanese_phrases if language == "ja" else find_chinese_phrases
        begin = sentences[at][0].start
        for spans, is_sure in find(text):
            words = tuple(Token(text[a:b], begin + a, begin + b, is_word=True) for a, b in spans)
            phrase = Phrase(words, is_sure=is_sure, is_typical=True)
            yield at, phrase, {key: _weigh(key, language) for key in phrase.keys}


def _join(sentence: Sequence[Token]) -> str:
    """Return the text of a sentence with spaces between tokens, so that offsets stay the same."""
    said = list[str]()
    end = sentence[0].start if sentence else 0
    for token in sentence:
        said += [" " * (token.start - end), token.text]
        end = token.end
    return "".join(said)


def _detect(text: str, *, all_japanese: bool) -> str:
    """Return 'ja', 'zh' or ''. Chinese text has no kana and is not in a Japanese document."""
    if len(_UNSPACED.findall(text)) < sum(map(str.isalpha, text)) * _QUOTED:
        return ""
    has_han = _HAN_LETTER.search(text) is not None
    if _KANA.search(text):
        return "ja" if all_japanese or _is_japanese(text) or not has_han else "zh"
    return ("ja" if all_japanese else "zh") if has_han else ""


def _is_japanese(text: str) -> bool:
    kana, han = len(_HIRAGANA.findall(text)), len(_HAN_LETTER.findall(text))
    return kana > (kana + han) * _JAPANESE


def _weigh(word: str, language: str) -> float:
    """Return a weight: 0.25 for frequency 5, and a tenth of it for a frequency lower by 2."""
    known = get_zipf_frequency(simplify(word) if language == "zh" else word, language) or 5
    return 0.25 * 10 ** ((known - 5) / 2)
