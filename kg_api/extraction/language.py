"""Words of a language: tokens, stop words, frequencies, parts of speech, and the lists in words/."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from itertools import islice
from math import log10
from typing import Protocol, cast

import regex
from yake_rust import Yake

from kg_api.suggestions import UNSPACED

_LANGUAGES = tuple(
    "en ar bg br da de el es et fa fi fr hi hr hu hy id it lt lv nl no pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905 - one line says more
)
"""Languages with spaces between words and stop words in yake-rust. The first one is the default."""
_SPACELESS = rf"[{UNSPACED}ー]"
_IS_SPACELESS = regex.compile(_SPACELESS)
_MAX_WORD_LENGTH = 60
_SAMPLE = 20_000  # words for the detection of the language
_MIN_STOP_WORDS = 0.1  # minimum share of stop words in a known language
_SENTENCE_WORDS = 200

_LETTER = rf"[\p{{L}}--{_SPACELESS}]"
_INNER = rf"[\p{{L}}\p{{M}}\p{{N}}--{_SPACELESS}]"
_TOKEN = regex.compile(
    rf"{_SPACELESS}[\p{{M}}{_SPACELESS}]*+"
    r"|(?:\p{Lu}\.){2,}|\b\p{Lu}\.(?=\s\p{Lu}\p{Ll})"
    rf"|{_LETTER}{_INNER}*n['’]t\b"
    rf"|\bO['’]\p{{Lu}}{_INNER}+"
    r"|['’]s\b"
    rf"|{_LETTER}{_INNER}*+(?:(?:[\-‑–&]|(?<=\p{{N}})\.(?=\p{{N}})){_INNER}{_INNER}*+){{0,6}}(?:\+\+|\#(?!\w))?"
    rf"|\p{{N}}{_INNER}*+(?:[.,]\p{{N}}+)*+"
    r"|\x01+|[^\s\p{L}\p{N}]|\p{L}",
    regex.V1,
)

_ZIPF_RARE = {"en": 4.2, "de": 4.2, "es": 4.1}
_WORDFREQ_CODES = {"no": "nb"}
UNLISTED = 2.9  # frequency of unlisted words: the lists end at 3


@dataclass(frozen=True, slots=True)
class Token:
    """Word, number or punctuation mark, with offsets in code points of the source."""

    text: str
    start: int
    end: int
    is_word: bool  # starts with a letter of a script with spaces between words

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def folded(self) -> str:
        return self.text.casefold().replace("’", "'")


def split_tokens(sentence: str, at: int) -> list[Token]:
    """Split a sentence into tokens. `at` is its offset in the source."""
    found = list[Token]()
    for match in _TOKEN.finditer(sentence):
        text = match[0]
        is_word = text[0].isalpha() and len(text) <= _MAX_WORD_LENGTH
        is_word = is_word and (text.isascii() or not _IS_SPACELESS.match(text))
        found.append(Token(text, at + match.start(), at + match.end(), is_word))
    return found


def detect_language(words: Iterable[str]) -> str:
    """Detect the language of words by their stop words, or '' if unknown."""
    counts = Counter(word.casefold() for word in islice(words, _SAMPLE))
    if not counts:
        return _LANGUAGES[0]
    found = {each: sum(counts[word] for word in stop_words(each) & counts.keys()) for each in _LANGUAGES}
    best = max(_LANGUAGES, key=found.__getitem__)
    if found[best] >= counts.total() * _MIN_STOP_WORDS:
        return best
    return _LANGUAGES[0] if all(word.isascii() for word in counts) else ""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the casefolded stop words of a language, or an empty set for an unknown one."""
    return frozenset(map(str.casefold, Yake(language=language).stopwords)) if language else frozenset()


def weigh_words(sentences: Sequence[Sequence[Token]], language: str) -> dict[str, float]:
    """Return YAKE's weight of each casefolded word in a document: above 0, lower is better."""
    lines = list[str]()
    for sentence in sentences:
        words = [token.text for token in sentence if token.is_word]
        # YAKE's tokenizer can fail on hostile text, so it gets plain words in sentences of limited length.
        parts = (words[at : at + _SENTENCE_WORDS] for at in range(0, len(words), _SENTENCE_WORDS))
        lines.append(" ".join(f"{' '.join(part)}." for part in parts))
    text = "\n".join(lines)
    yake = Yake(stopwords=set(stop_words(language)), ngrams=1, remove_duplicates=False, minimum_chars=1)
    return {word.casefold(): max(weight, 1e-9) for word, weight in yake.get_n_best(text, n=len(text) + 1)}


def get_zipf_frequency(word: str, language: str) -> float | None:
    """Get the Zipf frequency of a casefolded word (3: once in a million). None: language without a list."""
    known = _load_frequencies(language)
    return known.get(word, UNLISTED) if known else None


def is_rare(word: str, language: str) -> bool:
    """Check if a word and its singular are rare in general texts, so that they are technical terms."""
    folded = word.casefold()
    common = get_zipf_frequency(folded, language)
    if common is None:
        return False
    return max(common, get_zipf_frequency(folded.removesuffix("s"), language) or 0) < _ZIPF_RARE.get(
        language, 0
    )


@cache
def _load_frequencies(language: str) -> Mapping[str, float]:
    from wordfreq import available_languages, get_frequency_dict  # noqa: PLC0415 # 0.3 s and ftfy

    code = _WORDFREQ_CODES.get(language, language)
    if code not in available_languages("small"):
        return {}
    shares = get_frequency_dict(code, wordlist="small")
    return {word: round(log10(share) + 9, 2) for word, share in shares.items()}


class _Tagger(Protocol):
    """Used part of TextBlob's parser."""

    lexicon: Mapping[str, str]

    def find_tags(self, tokens: list[str]) -> list[list[str]]: ...


@cache
def load_english_tagger() -> _Tagger:
    """Return Brill's tagger (Penn Treebank tags) with its lexicon. The first call takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # its lexicon is closed by the garbage collector
        from textblob.en import parser  # noqa: PLC0415 # pyright: ignore[reportUnknownVariableType]

        tagger = cast("_Tagger", parser)
        tagger.find_tags(["Reading", "the", "lexicon"])
    return tagger


@dataclass(frozen=True, slots=True)
class Lists:
    """Casefolded words that form no concept on their own, from the files in words/."""

    headings: frozenset[str]  # headings of document parts, one or several words
    nouns: frozenset[str]  # nouns that need another word
    weak: frozenset[str]  # adjectives that fit any noun
    dates: frozenset[str]
    links: frozenset[str]  # words inside names, such as "of"
    articles: frozenset[str]  # members of `links` that need another one before them
    data_fields: frozenset[str]  # metadata fields without prose
    verbs: frozenset[str]  # English verbs that look like nouns at the end of a phrase
    es_openers: frozenset[str]  # Spanish words before a noun
    es_objects: frozenset[str]  # Spanish words after a verb


@cache
def load_lists() -> Lists:
    folder = files("kg_api.extraction").joinpath("words")
    texts = {
        each.name: folder.joinpath(f"{each.name}.txt")
        .read_text("utf-8")
        .partition("\n")[2]
        .strip()
        .casefold()
        for each in fields(Lists)
    }
    words = {name: frozenset(text.split()) for name, text in texts.items()}
    return Lists(**{**words, "headings": frozenset(texts["headings"].split("\n"))})


def is_date(folded: str) -> bool:
    """Check if a word is a number or a date, such as "2001", "july" or "jul-2001"."""
    return all(part in load_lists().dates or not any(map(str.isalpha, part)) for part in folded.split("-"))
