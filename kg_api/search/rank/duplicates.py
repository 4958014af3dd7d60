"""Which texts say almost the same. Pure.

The words decide, not the vectors: paragraphs made from one template, with other names and numbers in them,
are as near to each other as copies are (bge: cosine 0.80 to 0.98 against 0.87 to 1), but share fewer phrases.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

import regex

from kg_api.wording.scripts import UNSPACED

MIN_OVERLAP = 0.85
"""Of the phrases of both texts, the share that both must have. On five corpora templates end at 0.80."""
PHRASE_WORDS = 3

_WORD = regex.compile(rf"[{UNSPACED}]\p{{M}}*|[\p{{L}}\p{{N}}\p{{M}}--[{UNSPACED}]]+", regex.VERSION1)

Phrase = tuple[str, ...]


def near_duplicates(texts: Sequence[str]) -> list[list[int]]:
    """Group texts that say almost the same: letters' case, marks between words and layout do not count.

    A text belongs to the first one that it is a near-duplicate of and that leads a group; so all of a group
    are alike to its first, and what comes first (the best hit) is what stays when a group is given once.

    Args:
        texts: the best first.

    Returns:
        Groups of indexes, each ascending, in the order of their first; a text without its like is alone.
    """
    return group_alike([phrases_of(text) for text in texts])


def group_alike(texts: Sequence[frozenset[Phrase]]) -> list[list[int]]:
    """The same for texts by their phrases."""
    groups: dict[int, list[int]] = {}
    leaders = _Leaders(texts)
    for index in range(len(texts)):
        groups.setdefault(leaders.leader_of(index), []).append(index)
    return list(groups.values())


def overlap(one: str, other: str) -> float:
    """The share of both texts' phrases that both have, from 0 to 1."""
    a, b = phrases_of(one), phrases_of(other)
    return len(a & b) / len(a | b)


def phrases_of(text: str) -> frozenset[Phrase]:
    """All runs of three words; of fewer, the words; without any, the text itself. Never empty."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if len(words) < PHRASE_WORDS:
        return frozenset({tuple(words) or (text.strip(),)})
    return frozenset(zip(*(words[at:] for at in range(PHRASE_WORDS)), strict=False))


class _Leaders:
    """The first texts of groups by their rarest phrases, so that no text is compared with all.

    Two sets that share enough share one of their first few by any common order (prefix filtering: Chaudhuri,
    Ganti, Kaushik, ICDE 2006); the rarest first leaves few candidates where texts come from one template.
    """

    def __init__(self, every: Sequence[frozenset[Phrase]]) -> None:
        self._every = every
        self._common = Counter(phrase for phrases in every for phrase in phrases)
        self._with: defaultdict[Phrase, list[int]] = defaultdict(list)

    def leader_of(self, index: int) -> int:
        """The first one that overlaps enough; a text without such leads a group of its own."""
        own, rarest = self._every[index], self._rarest(index)
        for leader in sorted({each for phrase in rarest for each in self._with.get(phrase, ())}):
            both = len(own & self._every[leader])
            if both >= MIN_OVERLAP * (len(own) + len(self._every[leader]) - both):
                return leader
        for phrase in rarest:
            self._with[phrase].append(index)
        return index

    def _rarest(self, index: int) -> list[Phrase]:
        phrases = self._every[index]
        needed = max(1, math.ceil(MIN_OVERLAP * len(phrases) - 1e-9))
        rarest = sorted(phrases, key=lambda phrase: (self._common[phrase], phrase))
        return rarest[: len(phrases) - needed + 1]
