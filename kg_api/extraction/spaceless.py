"""Noun phrases of Chinese and Japanese, which have no spaces between words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import regex

from kg_api.extraction.phrases import Candidate
from kg_api.extraction.tagging import UNLISTED, Token, is_rare, lists, simplify, zipf
from kg_api.suggestions import UNSPACED

# Noun phrases of Chinese: its words and their parts of speech, by jieba's dictionary and method in Rust.

_HAN = regex.compile(r"\p{Han}+")
_NAMES = frozenset({"ns", "nr", "nt", "nz", "nrt", "nrfg"})
"""Tags of places, persons, bodies and others."""
_NOUNS = _NAMES | {"n", "ng", "j", "l", "g", "an"}
_BEFORE = _NOUNS | {"vn", "b"}
"""What may stand before a noun: verbs that are nouns, too, and adjectives that only classify."""
_VERBS = frozenset({"v", "vn"})
_UNSURE = frozenset({"zg", "q", "k"})
"""Tags of single characters that may make a noun of the one before them: unknown ones, measures, endings."""
_BEFORE_VERBS = frozenset({"d", "v", "r"})
"""Behind adverbs, other verbs and pronouns a verb is one, though it may be a noun elsewhere."""
_ADVERBS = frozenset({"d", "r"})
_CLAUSES = frozenset({"并", "而", "且", "以", "来", "就", "定期"})
"""Words behind which a verb stands, too."""
_BEHIND_NOUN = frozenset({"x", "c", "uj", "f"})
"""Marks, conjunctions, 的 and the like: a verb before them, and behind a noun, is a noun."""
_BEFORE_NOUNS = frozenset({"用", "把", "被", "对", "由", "向", "以", "通过", "经过", "的"})
"""Behind these a verb before a noun is part of its name: 用心跳检测, 通过选举算法."""
_MODALS = frozenset({"会", "可", "可以", "能", "是", "为", "应"})
"""As before these."""
_MAX_WORDS = 4
_MIN_CHARACTERS = 3
"""Of a phrase of several words."""
_COMMON_NAME = 5.5
"""Names as common as that, such as those of the largest countries, are no terms when they are said once."""

Place = tuple[int, int]
"""Of a word."""


@dataclass(frozen=True, slots=True)
class _Word:
    said: str
    tag: str
    start: int

    @property
    def place(self) -> Place:
        return self.start, self.start + len(self.said)

    @property
    def is_part(self) -> bool:
        """Whether it may be part of a phrase."""
        if self.tag not in _BEFORE or not _HAN.fullmatch(self.said):
            return False
        if self.tag == "l":
            return self.said[-1] in lists().zh_suffixes and self.said[0] not in lists().han_edges
        return self.is_known or len(self.said) == 1 or not _has_loose_edge(self.said)

    @property
    def is_known(self) -> bool:
        """Whether a word list has it; others are guessed."""
        return zipf(self.said, "zh") != UNLISTED

    @property
    def begins_name(self) -> bool:
        return self.tag.startswith("nr") and not self.is_known

    @property
    def ends_phrase(self) -> bool:
        return self.tag in _NOUNS and self.said not in lists().zh_weak

    @property
    def is_suffix(self) -> bool:
        """Whether it makes a noun of the word before it, as in 发表权."""
        return self.said in lists().zh_suffixes


def chinese_phrases(text: str) -> Iterator[tuple[tuple[Place, ...], bool]]:
    """Give the phrases of a sentence: their words, and whether they are terms though said once."""
    names = [found.span() for found in _foreign_names().finditer(text)]
    yield from (((name,), True) for name in names)
    named = {at for name in names for at in range(*name)}
    words = [each for each in _words(text) if named.isdisjoint(range(*each.place))]
    at = 0
    while at < len(words):
        end = _end(words, at)
        run = _trim(words, at, end)
        if run and _is_phrase(run):
            yield tuple(each.place for each in run), _is_sure(run)
        at = max(end, at + 1)


def _words(text: str) -> Iterator[_Word]:
    import rjieba  # noqa: PLC0415 # its dictionary is read when Chinese is first met, 0.3 s

    start = 0
    for said, tag in rjieba.tag(text):
        yield _Word(said, tag, start)
        start += len(said)


def _end(words: Sequence[_Word], at: int) -> int:
    """Where the run of words ends that may be a phrase; at its beginning when there is none."""
    end = at
    if words[at].tag in _VERBS and _stands_before_suffix(words, at):
        end = at + 2
    elif words[at].tag == "v" and _names(words, at):
        end = at + 1
    while end < len(words) and _goes_on(words, at, end):
        if words[end].begins_name and end > at and words[end - 1].tag == "n":
            break  # a title before a name
        end += 1
    return end


def _stands_before_suffix(words: Sequence[_Word], at: int) -> bool:
    return (
        len(words[at].said) > 1
        and at + 1 < len(words)
        and words[at + 1].is_suffix
        and _touches(words, at, at + 1)
    )


def _names(words: Sequence[_Word], at: int) -> bool:
    """Whether a verb is the first part of a name, by what stands around it."""
    verb = words[at].said
    if at == 0 or at + 1 == len(words) or len(verb) == 1 or verb in lists().zh_verbs:
        return False
    before, behind = words[at - 1], words[at + 1]
    return (
        before.said in _BEFORE_NOUNS
        and behind.is_part
        and len(behind.said) > 1
        and _touches(words, at, at + 1)
    )


def _goes_on(words: Sequence[_Word], at: int, end: int) -> bool:
    each = words[end]
    is_ending = end > at and each.tag in _UNSURE and each.is_suffix  # 西岭县, 复杂性类
    return _touches(words, at, end) and (each.is_part or is_ending)


def _touches(words: Sequence[_Word], at: int, end: int) -> bool:
    return end == at or words[end - 1].place[1] == words[end].start


def _trim(words: Sequence[_Word], at: int, end: int) -> Sequence[_Word]:
    """A run without what belongs to no phrase at its ends."""
    while end > at and not words[end - 1].ends_phrase and not _ends_compound(words, at, end):
        end -= 1
    while end > at and (words[at].said in lists().zh_openers or _is_verb(words, at, end)):
        at += 1
    return words[at:end]


def _ends_compound(words: Sequence[_Word], at: int, end: int) -> bool:
    """Whether the last word ends a noun though it is none by itself: 发表权, 胰岛素抵抗, 提起诉讼."""
    last = words[end - 1]
    if last.is_suffix:
        return end - 1 > at
    if last.tag != "vn" or words[end - 2].said in lists().zh_weak:
        return False
    behind = end == len(words) or words[end].tag in _BEHIND_NOUN or words[end].said in _MODALS
    return behind and (end - 1 > at or is_rare(last.said, "zh"))


def _is_verb(words: Sequence[_Word], at: int, end: int) -> bool:
    """Whether a word that is a verb or a noun is a verb by what stands before it."""
    is_last = end == at + 1
    if words[at].tag != "vn" or not at or (not is_last and words[at + 1].is_suffix):
        return False
    before = words[at - 1]
    if is_last:  # what is left here stands where nouns do: 提起诉讼
        return before.tag in _ADVERBS or before.said in _CLAUSES
    return before.tag in _BEFORE_VERBS or before.said in _CLAUSES


def _is_phrase(run: Sequence[_Word]) -> bool:
    said = "".join(each.said for each in run)
    if len(run) > 1:
        return len(said) >= _MIN_CHARACTERS and len(run) <= _MAX_WORDS
    return len(said) > 1


def _has_loose_edge(said: str) -> bool:
    """Whether what no dictionary has begins or ends with a particle or the like: it is part of a clause."""
    return said[0] in lists().han_edges or said[-1] in lists().han_edges


def _is_sure(run: Sequence[_Word]) -> bool:
    if len(run) > 1 or is_rare(run[0].said, "zh"):
        return True
    return run[0].tag in _NAMES and (zipf(run[0].said, "zh") or 0) < _COMMON_NAME


@cache
def _foreign_names() -> regex.Pattern[str]:
    """Names of several parts, such as 托马斯·戴维斯: characters that stand for sounds, and dots."""
    sounds = "".join(sorted(lists().zh_sounds))
    return regex.compile(rf"[{sounds}]{{1,8}}(?:[·•・‧][{sounds}]{{1,8}})+")


# Phrases of Japanese: runs of Chinese characters and katakana are nouns, hiragana stands between them.

_RUN = regex.compile(r"[\p{Han}\p{Katakana}ー々ヶ]{2,24}+")
_NUMERALS = "一二三四五六七八九十百千万億兆〇数第"
_COUNTED = regex.compile(
    rf"[{_NUMERALS}]+(?:年間|時間|世紀|種類|[ヶカか]月|[年月日円人回件時分秒度個倍割名歳枚本点条項章])*"
)
"""Numbers with what they count."""
_JAPANESE_BEHIND_NOUN = regex.compile(
    r"(?:は|が|を|に|の|で|と|も|や|へ|から|まで|より|など|だ(?!け)|[^\p{Hiragana}]|$)"
)
"""What stands behind a noun: a particle, a mark or nothing; others are endings of verbs and adjectives."""
_JAPANESE_ADVERBS = "的"
"""Its last character makes no noun of a run."""


def japanese_phrases(text: str) -> Iterator[tuple[tuple[Place, ...], bool]]:
    """Give the phrases of a sentence: their words, and whether they are terms though said once."""
    for run in _RUN.finditer(text):
        if not _JAPANESE_BEHIND_NOUN.match(text, run.end()):
            continue
        start, end = _without_numbers(text, run.start(), run.end())
        said = text[start:end]
        if len(said) > 1 and said[-1] not in _JAPANESE_ADVERBS:
            yield ((start, end),), is_rare(said, "ja")


def _without_numbers(text: str, start: int, end: int) -> Place:
    """The place of a run without the numbers at its beginning, and up to those within it."""
    leading = _COUNTED.match(text, start, end)
    if leading:
        start = leading.end()
    within = _COUNTED.search(text, start, end)
    return start, within.start() if within else end


# Phrases of scripts without spaces between words: of Chinese by its words, of Japanese by its script.
#
# Of Thai, Lao, Khmer and Burmese no phrase is given: what stands there in Latin letters is found as elsewhere
# (adr/0083).

_UNSPACED = regex.compile(rf"[{UNSPACED}]")
_PHRASES_HAN = regex.compile(r"\p{Han}")
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
        return "ja" if all_japanese or _is_japanese(text) or not _PHRASES_HAN.search(text) else "zh"
    if not _PHRASES_HAN.search(text):
        return ""
    return "ja" if all_japanese else "zh"


def _is_japanese(text: str) -> bool:
    kana, han = len(_HIRAGANA.findall(text)), len(_PHRASES_HAN.findall(text))
    return kana > (kana + han) * _JAPANESE


def _weight(word: str, language: str) -> float:
    known = zipf(simplify(word) if language == "zh" else word, language) or _USUAL
    return _LIGHT * 10 ** ((known - _USUAL) / _STEP)
