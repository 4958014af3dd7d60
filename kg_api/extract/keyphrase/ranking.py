"""The concepts of a document: phrases of one meaning together, the most telling first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import prod
from typing import cast

import Stemmer

from kg_api.extract.keyphrase.variants import Mention, join_variants
from kg_api.extract.keyphrase.words import stop_words, typical

_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_ENDING = 2
"""Letters by which two forms of a word differ in length."""
_WORD_SAID = range(3, 9)
"""How often a document says a word that is a concept of it, by its length."""
_WORDS_A_SAYING = 150
_PHRASE_SAID = 2
"""And a phrase that may be none by its words."""
_SAID_ONCE = 3.0
"""How much less a phrase of common words says that a document says once."""
_MAX_TERMS = 5


@dataclass(frozen=True, slots=True)
class RankedPhrase:
    """A concept of a document."""

    label: str
    others: tuple[str, ...]
    """Its other forms there."""
    weight: float
    """The less the better, above 0."""
    mentions: tuple[Mention, ...]
    """In reading order."""
    words: frozenset[str]
    """Folded."""


def rank(
    mentions: Sequence[Mention], weights: Mapping[str, float], language: str, words: int
) -> list[RankedPhrase]:
    """Put the forms of one phrase together and order them, the best first; ties by their labels.

    Args:
        mentions: of a document, in reading order.
        weights: of its words, the less the better.
        language: of the document, or empty.
        words: how many the document has.
    """
    unknown = typical(dict(weights))
    groups = [
        each
        for each in join_variants(list(_groups(mentions, language)))
        if len(each) >= _min_mentions(each, words)
    ]
    found = [_rank(each, weights, unknown, language) for each in groups]
    return sorted(found, key=lambda each: (each.weight, each.label))


def _min_mentions(group: Sequence[Mention], words: int) -> int:
    """How often a phrase is to be said."""
    if any(each.phrase.is_sure for each in group):
        return 1
    if len(group[0].phrase.words) > 1:
        return _PHRASE_SAID
    return min(max(words // _WORDS_A_SAYING, _WORD_SAID.start), _WORD_SAID.stop - 1)


def _rank(
    group: Sequence[Mention], weights: Mapping[str, float], unknown: float, language: str
) -> RankedPhrase:
    label, *others = _forms(group)
    words = max(group, key=lambda each: len(each.phrase.words)).phrase.keys
    stops = stop_words(language)
    weighed = [weights.get(word, unknown) for word in words if word not in stops and word[0].isalpha()]
    weight = prod(weighed) / (len(group) * (1 + sum(weighed)))  # YAKE's for several words
    once = len(group) == 1 and group[0].phrase.words[-1].text.islower()
    weight *= _SAID_ONCE if once else 1
    return RankedPhrase(label, tuple(others[:_MAX_TERMS]), weight, tuple(group), frozenset(words))


def _forms(group: Sequence[Mention]) -> list[str]:
    """The ways a phrase is written, the label first: as it stands within a sentence, most often, first."""
    counts = Counter(each.said for each in group)
    own = Counter(each.said for each in group if each.phrase.is_typical)
    full = max(len(each.phrase.words) for each in group)
    short = {each.said for each in group if len(each.phrase.words) < full}
    ordered = sorted(counts, key=lambda said: (said in short, -own[said], -counts[said]))
    folded: dict[str, str] = {}
    for said in ordered:
        folded.setdefault(said.casefold(), said)
    return list(folded.values())


def _groups(mentions: Sequence[Mention], language: str) -> Iterator[list[Mention]]:
    stem = _stemmer(language)
    alike: defaultdict[tuple[str, ...], list[Mention]] = defaultdict(list)
    for each in mentions:
        *before, last = each.phrase.keys
        alike[*before, stem(last)].append(each)
    for group in alike.values():
        yield from _apart(group)


def _stemmer(language: str) -> Callable[[str], str]:
    name = _STEMMERS.get(language)
    return cast("Callable[[str], str]", Stemmer.Stemmer(name).stemWord) if name else str


def _apart(group: Iterable[Mention]) -> Iterator[list[Mention]]:
    """Part what a stemmer puts together: forms of one word differ in their last letters only."""
    parts: list[tuple[str, list[Mention]]] = []
    for each in group:
        last = each.phrase.keys[-1]
        fitting = [part for form, part in parts if _is_form(form, last)]
        if not fitting:
            fitting = [list[Mention]()]
            parts.append((last, fitting[0]))
        fitting[0].append(each)
    return (part for _, part in parts)


def _is_form(one: str, other: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return abs(len(one) - len(other)) <= _ENDING and shared >= min(len(one), len(other)) - 1
