"""Words: where they stand, of which language, and how much each says of its document (by yake-rust)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from statistics import median

import regex
from yake_rust import Yake

from kg_api.extract.keyphrase.text import Sentence
from kg_api.wording.scripts import UNSPACED

_LANGUAGES = tuple(
    "en ar bg br da de el es et fa fi fr hi hr hu hy id it lt lv nl no pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905 - one line says more
)
"""Those with spaces between words that yake-rust brings stop words of; the first is meant when nothing speaks
for another."""
_SPACELESS = rf"[{UNSPACED}ー]"
_IS_SPACELESS = regex.compile(_SPACELESS)
_MAX_WORD_LENGTH = 60
_SAMPLE = 20_000
"""Words by which a language is told."""
_SPOKEN = 0.1
"""Share of stop words in a text of a language that is known."""
_SENTENCE_WORDS = 200
"""What is longer is no sentence; it is ranked in pieces."""

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


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a mark; offsets in code points of the source's text."""

    text: str
    start: int
    end: int
    is_word: bool
    """It has letters, of a script that has spaces between words."""

    @property
    def is_capital(self) -> bool:
        """Whether it begins as a name does, in scripts that tell."""
        return self.text[0].isupper()


def tokens(sentence: Sentence) -> list[Token]:
    """The words and marks of a sentence, in order."""
    return [
        Token(said := found[0], at + found.start(), at + found.end(), _is_word(said))
        for at in (sentence.start,)
        for found in _TOKEN.finditer(sentence.text)
    ]


def _is_word(said: str) -> bool:
    is_short = said[0].isalpha() and len(said) <= _MAX_WORD_LENGTH
    return is_short and (said.isascii() or not _IS_SPACELESS.match(said))


def language_of(words: Iterable[str]) -> str:
    """Tell the language of words by the stop words among them; empty for one that is not known."""
    counts = Counter(word.casefold() for word in islice(words, _SAMPLE))
    if not counts:
        return _LANGUAGES[0]
    found = {each: sum(counts[word] for word in stop_words(each) & counts.keys()) for each in _LANGUAGES}
    best = max(_LANGUAGES, key=found.__getitem__)
    if found[best] >= counts.total() * _SPOKEN:
        return best
    return _LANGUAGES[0] if all(word.isascii() for word in counts) else ""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, folded; none of one that is not known."""
    return frozenset(map(str.casefold, Yake(language=language).stopwords)) if language else frozenset()


def weigh(sentences: Sequence[Sequence[Token]], language: str) -> dict[str, float]:
    """How much each word says of its document: the less the better, above 0; by the folded word.

    YAKE's measure: place, count, spread over sentences, capitals and what stands beside it.
    """
    text = "\n".join(_clean(each) for each in sentences)
    known = Yake(
        stopwords=set(stop_words(language)), ngrams=1, remove_duplicates=False, minimum_chars=1
    ).get_n_best(text, n=len(text) + 1)
    return {word.casefold(): max(weight, 1e-9) for word, weight in known}


def typical(weights: dict[str, float]) -> float:
    """The weight of a word that was not weighed."""
    return median(weights.values()) if weights else 1.0


def _clean(sentence: Sequence[Token]) -> str:
    """Words alone, in sentences of bounded length: YAKE's own reading of hostile text may fail."""
    words = [token.text for token in sentence if token.is_word]
    parts = (words[at : at + _SENTENCE_WORDS] for at in range(0, len(words), _SENTENCE_WORDS))
    return " ".join(f"{' '.join(part)}." for part in parts)
