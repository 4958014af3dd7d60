"""The names that are most like one that is not there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rapidfuzz import process, utils
from rapidfuzz.distance import OSA

MAX_SUGGESTIONS = 3
MAX_NAMED = 10
"""Names that are not there which one sentence repeats."""
MIN_BEGINNING = 3
"""Letters of a word that may stand for it, where one letter is not a word already."""
MIN_SPELT_ALIKE = 0.75
"""Letters that are the same, of the longer word's: one slip in four."""


def spelt_nearly(wanted: str, names: Iterable[str]) -> list[str]:
    """Names of which one is the one wanted with a slip of the finger, the most similar first."""
    return _most_alike(wanted, list(dict.fromkeys(names)), least=MIN_SPELT_ALIKE)


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Up to three names that may be meant, the most similar first; case does not count.

    They are spelt nearly so, or have all words of the one wanted, or are all of them words of it.
    """
    known = list(dict.fromkeys(names))
    spelt = spelt_nearly(wanted, known)
    words = _words(wanted)
    sharing = [name for name in known if name not in spelt and _share_words(words, _words(name))]
    return [*spelt, *_most_alike(wanted, sharing)][:MAX_SUGGESTIONS]


def _most_alike(wanted: str, names: Sequence[str], least: float = 0) -> list[str]:
    found = process.extract(
        wanted,
        names,
        scorer=OSA.normalized_similarity,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=least,
    )
    return [name for name, _, _ in found]


def _words(text: str) -> list[str]:
    return utils.default_process(text).split()


def _share_words(wanted: Sequence[str], name: Sequence[str]) -> bool:
    """Whether one of them has all words of the other, of which there are some."""
    if len(wanted) <= len(name):
        return bool(wanted) and all(any(_is_begun(word, each) for each in name) for word in wanted)
    return bool(name) and all(any(_is_spelt(word, each) for each in wanted) for word in name)


def _is_begun(word: str, whole: str) -> bool:
    enough = len(word) >= MIN_BEGINNING or not word.isascii()
    return (enough and whole.startswith(word)) or _is_spelt(word, whole)


def _is_spelt(word: str, other: str) -> bool:
    return OSA.normalized_similarity(word, other) >= MIN_SPELT_ALIKE


def suggestion(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The clause of a message that names what is nearest; empty where nothing is like it."""
    known = list(names)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    found = list(dict.fromkeys(name for each in wanted for name in nearest(each, known)))
    return f"; the nearest: {', '.join(map(repr, found[:MAX_SUGGESTIONS]))}" if found else ""


def no_ontology(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The sentence that one or several ontologies are not there, with those that may be meant."""
    wanted = [wanted] if isinstance(wanted, str) else wanted
    return f"there is no ontology {', '.join(map(repr, wanted))}{suggestion(wanted, names)}"
