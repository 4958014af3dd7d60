"""Words of a question that say little, in the language that it is asked in.

The index's English analyzer leaves out 33 English words; "how", "wer" and "quién" weigh as any other there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache

from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from kg_api.wording.normal_form import normalise_text

ENGLISH = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves what which who whom whose this
    that these those am is are was were be been being have has had having do does did doing would should
    could can may might must shall will ought a an the and but if or because as until while of at by for
    with about against between into through during before after above below to from up down in out on
    off over under again further then once here there when where why how all any both each few more most
    other some such no nor not only own same so than too very
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""Snowball's list, and modal verbs. The 1,333 of the package have `call` and `state` among them: nDCG@10 81.5
with those and 81.9 with these (claude_docs, mode text)."""
_FEWEST = 2
"""So many of its stop words a question has at least in a language that it is taken for."""


def stop_words_of(words: Iterable[str], languages: Iterable[str | None] = ()) -> frozenset[str]:
    """Those of the words, in normal form and lower case, that are stop words of the language with most.

    None where no language has two: a few keywords are no sentence, and each of them counts. Those of
    languages that are told, by their English names, are stop words in any case.
    """
    asked = frozenset(word.lower() for word in words)
    most = max((asked & listed for listed in _lists()), key=len)
    listed = words_that_say_little()
    told = [asked & listed[each] for each in languages if each is not None]
    enough = most if len(most) >= _FEWEST else frozenset[str]()
    return enough.union(*told)


@cache
def words_that_say_little() -> Mapping[str, frozenset[str]]:
    """The stop words of each language, by its English name; not the digits that a few lists have.

    English first: it is taken where several have as many.
    """
    others = sorted(set(AVAILABLE_LANGUAGES) - {"english"})
    return {
        "english": ENGLISH,
        **{each: _read_list(each) for each in others},
    }


def _read_list(language: str) -> frozenset[str]:
    words = map(normalise_text, get_stop_words(language))
    return frozenset(word for word in words if not word.isdecimal())


def _lists() -> Collection[frozenset[str]]:
    return words_that_say_little().values()
