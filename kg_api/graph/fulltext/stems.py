"""Stems of words in the language of a text, beside the English ones: `Zwiebel` finds `Zwiebeln`. Pure.

Snowball's stemmers, accents folded, in the field `scope`: there they are whole words of their own that nobody
writes. English texts have none, for the index's own analyzer knows English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from kg_api.graph.fulltext.forms import KNOWN_FORMS
from kg_api.graph.fulltext.spelling import fold, words_in
from kg_api.graph.fulltext.stemming import stem
from kg_api.graph.fulltext.stopwords import words_that_say_little
from kg_api.graph.fulltext.tokens import SINGLE
from kg_api.wording.normal_form import normalise_text

MARK = "kgs"
"""In front of a stem: no word of a text is asked for by it."""
LANGUAGES = ("german", "spanish", "turkish", "russian", "romanian", "arabic", "greek", "hindi")
"""Those that gain by it (ADR 57 has the figures)."""
MIN_STOP_WORDS = 2
MIN_SHARE = 0.1
"""Of a text's words that are stop words of its language; in a list of names, none is."""
ENOUGH = 1000
"""Words of a text by which its language is told."""
MIN_STEMMED = 3
_TAKEN_APART = re.compile(f"[{SINGLE}]")
MAX_GUESSED = 8
"""Words of a question whose language is not told are stemmed in each; more of them are a sentence."""


def language_of(words: Iterable[str]) -> str | None:
    """That whose stop words are most of some words, given in lower case; none where they are few.

    Where several have as many it is English, which is indexed as it is, then one that has stems.
    """
    counts = Counter(islice(words, ENOUGH))
    different = frozenset(counts)  # a view of keys walks the whole list of stop words: 70 times slower
    little = {
        name: sum(map(counts.__getitem__, different & listed))
        for name, listed in words_that_say_little().items()
    }
    best = max(little, key=lambda name: (little[name], name == "english", name in LANGUAGES))
    enough = little[best] >= MIN_STOP_WORDS and little[best] >= MIN_SHARE * counts.total()
    return best if enough else None


def stems_of_texts(texts: Sequence[str], chosen: str | None = None) -> list[str]:
    """What is indexed of some texts of one source: their stems, one string; nothing of English.

    Without a chosen language the first one tells it: names and titles, said twice, say nothing of it.
    """
    language = chosen or language_of(_words(texts[0]) if texts else ())
    if language is None or language == "english" or not (chosen or language in LANGUAGES):
        return []
    little = words_that_say_little()[language]
    words = (word for text in texts for word in _words(text))
    found = (_stem(word, language) for word in words if word not in little and _has_stem(word))
    return [" ".join(found)]


def stems_of_question(words: Sequence[str], chosen: Collection[str | None] = (None,)) -> list[str]:
    """What is asked for: stems in the languages of what is searched.

    Args:
        words: of the question.
        chosen: the languages of the ontologies that are searched. None is among them where one has none: that
            is searched in the question's language, or in each where a few keywords do not tell it.
    """
    lower = [word for each in words for word in _words(each)]
    own = {each for each in chosen if each is not None} - {"english"}
    languages = [*dict.fromkeys([*sorted(own), *(_guessed(lower) if None in chosen else ())])]
    asked = (
        _stem(word, language)
        for word in lower
        for language in languages
        if _has_stem(word) and word not in words_that_say_little()[language]
    )
    return [*dict.fromkeys(asked)]


@lru_cache(KNOWN_FORMS)
def forms_of(word: str) -> frozenset[str]:
    """A word without accents, and its stems in English and the languages that are told by texts.

    Two words that share one may be forms of one word; they are in some language.
    """
    lower = word.lower()
    return frozenset({fold(word), *(fold(stem(lower, each)) for each in ("english", *LANGUAGES))})


def _guessed(words: Sequence[str]) -> Sequence[str]:
    told = language_of(words)
    if told is None:
        return LANGUAGES if len(words) <= MAX_GUESSED else ()
    return (told,) if told in LANGUAGES else ()


def _words(text: str) -> list[str]:
    return [word.lower() for word in words_in(normalise_text(text))]


def _has_stem(word: str) -> bool:
    """Not what the analyzer takes apart: there each character would count as a rare word does."""
    return len(word) >= MIN_STEMMED and not _TAKEN_APART.search(word)


def _stem(word: str, language: str) -> str:
    return MARK + fold(stem(word, language))
