"""Phrases of scripts without spaces between words: what a document writes the same way again and again.

Chinese characters and katakana only. No words are told apart in Thai, Lao, Khmer and Burmese: of such texts
names in Latin letters are found alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import regex

from kg_api.extract.keyphrase.lists import lists
from kg_api.extract.keyphrase.phrases import Candidate
from kg_api.extract.keyphrase.words import Token

_RUN = regex.compile(r"[\p{Han}\p{Katakana}ー]+")
_KATAKANA = regex.compile(r"[\p{Katakana}ー]{3,}")
_MAX_LENGTH = 8
_PARTICLES = ("的", "了")
_SAID = {2: 3}
"""How often by length; two characters stand together by chance."""
_SAID_LONGER = 2

Place = tuple[int, Token]
"""Which sentence, and a run of characters of it."""


def spaceless(sentences: Sequence[Sequence[Token]]) -> Iterator[tuple[int, Candidate]]:
    """Give phrases that a document repeats, and words in katakana, with the sentences they stand in."""
    runs = list(_runs(sentences))
    counts = _counts([run.text for _, run in runs])
    for sentence, run in runs:
        for start, end in _phrases(run.text, counts):
            word = Token(run.text[start:end], run.start + start, run.start + end, is_word=True)
            yield sentence, Candidate((word,), is_sure=True, is_typical=True)


def _runs(sentences: Sequence[Sequence[Token]]) -> Iterator[Place]:
    for at, sentence in enumerate(sentences):
        for token in sentence:
            for found in _RUN.finditer(token.text) if not token.is_word else ():
                yield (
                    at,
                    Token(found[0], token.start + found.start(), token.start + found.end(), is_word=True),
                )


def _counts(runs: Sequence[str]) -> Counter[str]:
    """How often each run of two and more characters stands there that stands there often enough."""
    counts: Counter[str] = Counter()
    known = Counter(run[at : at + 2] for run in runs for at in range(len(run) - 1))
    for length in range(2, _MAX_LENGTH + 1):
        known = Counter({gram: count for gram, count in known.items() if count >= _SAID_LONGER})
        if not known:
            break
        counts |= known
        known = Counter(
            run[at : at + length + 1]
            for run in runs
            for at in range(len(run) - length)
            if run[at : at + length] in known and run[at + 1 : at + length + 1] in known
        )
    return counts


def _phrases(run: str, counts: Counter[str]) -> Iterator[tuple[int, int]]:
    """The longest phrases from left to right, none over another."""
    at = 0
    while at < len(run):
        word = _KATAKANA.match(run, at)
        end = word.end() if word else _end(run, at, counts)
        if end > at:
            yield at, end
        at = max(end, at + 1)


def _end(run: str, at: int, counts: Counter[str]) -> int:
    """Where the phrase ends that begins there; there itself when none does."""
    best = at
    for end in range(at + 2, min(at + _MAX_LENGTH, len(run)) + 1):
        gram = run[at:end]
        if gram not in counts:
            break
        if counts[gram] >= _SAID.get(len(gram), _SAID_LONGER) and _is_phrase(gram):
            best = end
    return best


def _is_phrase(gram: str) -> bool:
    edges = lists().han_edges
    return gram[0] not in edges and gram[-1] not in edges and not any(mark in gram for mark in _PARTICLES)
