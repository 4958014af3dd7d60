"""Questions without a language model: sentences of the documents that say what no other does."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kg_api.models.evaluation import Reference, SetDocument, SetQuery

SHORTEST, LONGEST = 40, 300
"""Characters of a sentence that is taken."""
_LETTERS = 0.7
"""Share of letters and blanks, so that no code and no table is taken."""
_RAREST = 5
"""So many of a sentence's rarest words tell how distinctive it is."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    reference: Reference
    text: str
    words: frozenset[str]


def sample_quotes(
    documents: Sequence[SetDocument], sentences: Iterable[Iterable[tuple[int, int]]], count: int, seed: int
) -> list[SetQuery]:
    """Choose sentences as questions, each answered by its own place.

    They are spread over the documents, are there once in all of them, and belong to the half of their
    document with the rarest words.

    Args:
        documents: where to choose.
        sentences: for each document the places of its sentences, in code points.
        count: how many, at most.
        seed: the same one chooses the same.
    """
    found = [_candidates(*pair) for pair in zip(documents, sentences, strict=True)]
    times = Counter(candidate.text for each in found for candidate in each)
    spread = Counter(word for each in found for candidate in each for word in candidate.words)
    single = [[candidate for candidate in each if times[candidate.text] == 1] for each in found]
    best = [_distinctive(each, spread, sum(map(len, found))) for each in single]
    return [_query(number, each) for number, each in enumerate(_spread(best, count, seed), 1)]


def _candidates(document: SetDocument, sentences: Iterable[tuple[int, int]]) -> list[_Candidate]:
    return list(filter(None, (_candidate(document, start, end) for start, end in sentences)))


def _candidate(document: SetDocument, start: int, end: int) -> _Candidate | None:
    raw = document.text[start:end]
    start, end = start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))
    text = " ".join(raw.split())
    plain = sum(character.isalpha() or character.isspace() for character in text)
    if not SHORTEST <= len(text) <= LONGEST or plain < _LETTERS * len(text):
        return None
    words = frozenset(_WORD.findall(text.casefold()))
    return _Candidate(Reference(document.document, start, end), text, words)


def _distinctive(candidates: Sequence[_Candidate], spread: Counter[str], total: int) -> list[_Candidate]:
    """The half whose rarest words are the rarest; at least one."""

    def rarity(candidate: _Candidate) -> float:
        rarest = sorted((math.log(total / spread[word]) for word in candidate.words), reverse=True)[:_RAREST]
        return sum(rarest) / max(1, len(rarest))

    return sorted(candidates, key=rarity, reverse=True)[: (len(candidates) + 1) // 2]


def _spread(found: Sequence[list[_Candidate]], count: int, seed: int) -> list[_Candidate]:
    """One of each document in turn, at random, until there are enough."""
    dice = random.Random(seed)  # noqa: S311 - a sample, no secret
    piles = [dice.sample(each, len(each)) for each in found if each]
    dice.shuffle(piles)
    rounds = max(map(len, piles), default=0)
    return [pile[turn] for turn in range(rounds) for pile in piles if turn < len(pile)][:count]


def _query(number: int, candidate: _Candidate) -> SetQuery:
    reference = candidate.reference
    return SetQuery(f"q{number}", candidate.text, {reference.document: 1}, (reference,))
