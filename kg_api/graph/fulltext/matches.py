"""Where the words of a question stand in a text, by the rules of the full-text index. Pure.

A text is taken apart as it is for the index: the parts of joined words one by one, and character by character
what is written without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from kg_api.graph.fulltext.forms import KNOWN_FORMS, OMITTED, word_form
from kg_api.graph.fulltext.queries import MAX_TERMS, terms
from kg_api.graph.fulltext.stopwords import stop_words_of
from kg_api.graph.fulltext.tokens import EXTENDING, PIECES, SYMBOLS, parts
from kg_api.graph.fulltext.variants import find_variants
from kg_api.wording.normal_form import normalise_text

MAX_MATCHES = 50
"""Places of one text that are told: the first ones."""
MAX_SCANNED = 200_000
"""Characters that are looked through: 20 ms."""

_WORD = re.compile(rf"(?:[^\W_]+|[{SYMBOLS}])(?:[{EXTENDING}{SYMBOLS}]+[^\W_]*)*")
_PLAIN_WORD = re.compile("[a-zA-Z0-9]+")
_JOINT = re.compile(r"\s*|_+|\s?°\s?|[-^'’＇.:/·]")
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’＇][sS](?![^\W_])")


class IndexToken(NamedTuple):
    """A word of a text, or a part of one, and what it is compared by."""

    start: int
    end: int
    form: str


class QuestionWords:
    """The words of a question; made once, looked for in many texts.

    A word that says something is marked wherever it stands. Stop words are marked only as part of a phrase:
    words beside each other as in the question, one of which says something.
    """

    def __init__(self, question: str) -> None:
        asked = [_POSSESSIVE.sub("", word) for word in terms(question)[:MAX_TERMS]]
        variants = [_forms(each.words) for each in find_variants(question)]
        telling = [*map(_forms, _telling(asked)), *variants]
        self._telling = frozenset(form for forms in telling for form in forms)
        self._alone = frozenset(forms[0] for forms in telling if len(forms) == 1)
        known = frozenset(form for word in asked for form in _forms(word))
        every = _forms(_POSSESSIVE.sub("", normalise_text(question))) if asked else []
        self._pairs = frozenset(pair for pair in pairwise(every) if known.issuperset(pair)).union(
            pair for forms in variants for pair in pairwise(forms)
        )
        self._wanted = self._alone.union(*self._pairs)
        self._begin = frozenset(form[:2] for form in self._wanted)
        self._seen: dict[str, tuple[IndexToken, ...]] = {}

    def find(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each place, in order, none overlapping; no more than the first 50."""
        found: list[tuple[int, int]] = []
        for phrase in self._phrases(text[:MAX_SCANNED]):
            is_behind = not found or phrase[0].start >= found[-1][1]  # one word may have several parts
            if is_behind and self._says(phrase):
                found.append((phrase[0].start, phrase[-1].end))
                if len(found) == MAX_MATCHES:
                    break
        return found

    def _says(self, phrase: list[IndexToken]) -> bool:
        if len(phrase) == 1:
            return phrase[0].form in self._alone
        return not self._telling or any(each.form in self._telling for each in phrase)

    def _phrases(self, text: str) -> Iterator[list[IndexToken]]:
        """Tokens that the question has, too; those beside each other together where it has them so."""
        phrase: list[IndexToken] = []
        for token in self._tokens(text):
            if phrase and not self._goes_on(phrase[-1], token, text):
                yield phrase
                phrase = []
            phrase.append(token)
        if phrase:
            yield phrase

    def _goes_on(self, last: IndexToken, token: IndexToken, text: str) -> bool:
        """Nothing but blanks stands between them, or a character that joins words."""
        if (last.form, token.form) not in self._pairs:
            return False
        return token.start < last.end or _JOINT.fullmatch(text, last.end, token.start) is not None

    def _tokens(self, text: str) -> Iterator[IndexToken]:
        """Those that are wanted; most words of a text are not, and cost little."""
        seen = self._seen
        for word in (_PLAIN_WORD if text.isascii() else _WORD).finditer(text):
            known = seen.get(word[0])
            if known is None:
                known = seen[word[0]] = self._known(word[0])
            for start, end, form in known:
                yield IndexToken(word.start() + start, word.start() + end, form)

    def _known(self, word: str) -> tuple[IndexToken, ...]:
        """The wanted tokens of a word; a stem begins as its word does, which leaves few to look at."""
        if word.isascii() and self._begin.isdisjoint((word[:2].lower(), word[0].lower())):
            return ()
        return tuple(token for token in _split(word) if token.form in self._wanted)


@lru_cache(KNOWN_FORMS)
def _split(word: str) -> tuple[IndexToken, ...]:
    """The tokens that a word has, from 0; several of one character where it means several."""
    if word.isascii():
        return (IndexToken(0, len(word), word_form(word)),)
    return tuple(
        IndexToken(part.start(), part.end(), word_form(said))
        for part in PIECES.finditer(word)
        for said in parts(part[0]).split()
    )


def _forms(text: str) -> list[str]:
    return [token.form for word in _WORD.finditer(text) for token in _split(word[0])]


def _telling(words: list[str]) -> list[str]:
    """The words that say something; without any, those that the index has."""
    stop = stop_words_of(words) | OMITTED
    known = [word for word in words if word.lower() not in OMITTED]
    return [word for word in known if word.lower() not in stop] or known
