"""Which texts say almost the same. Pure.

The words decide, not the vectors: paragraphs made from one template, with other names and numbers in them,
are as near to each other as copies are (bge: cosine 0.80 to 0.98 against 0.87 to 1), but share fewer phrases.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import regex
from numpy.typing import NDArray

MIN_OVERLAP = 0.85
"""Of the phrases of both texts, the share that both must have. On five corpora templates end at 0.80."""
MIN_SIMILARITY = 0.6
"""No copy that was found on those corpora is less similar, in any of the three local models."""
PHRASE_WORDS = 3

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*|[\p{{L}}\p{{N}}\p{{M}}--[{_UNSPACED}]]+", regex.VERSION1)

Phrase = tuple[str, ...]


def near_duplicates(
    texts: Sequence[str],
    vectors: NDArray[np.float32] | None = None,
    *,
    min_overlap: float = MIN_OVERLAP,
    min_similarity: float = MIN_SIMILARITY,
) -> list[list[int]]:
    """Group texts that say almost the same: letters' case, marks between words and layout do not count.

    A text belongs to the first one that it is a near-duplicate of and that leads a group; so all of a group
    are alike to its first, and what comes first (the best hit) is what stays when a group is given once.

    Args:
        texts: the best first.
        vectors: of the texts, shape (texts, dimensions), rows of length 1; where given, they must agree.
        min_overlap: of the phrases of both texts, the share that both have, from 0 to 1 (Jaccard).
        min_similarity: the least cosine, where there are vectors.

    Returns:
        Groups of indexes, each ascending, in the order of their first; a text without its like is alone.
    """
    groups: dict[int, list[int]] = {}
    leaders = _Leaders([phrases_of(text) for text in texts], min_overlap)
    for index in range(len(texts)):
        like = (
            leader
            for leader in leaders.like(index)
            if vectors is None or float(vectors[leader] @ vectors[index]) >= min_similarity
        )
        first = next(like, index)
        groups.setdefault(first, []).append(index)
        if first == index:
            leaders.add(index)
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

    def __init__(self, every: Sequence[frozenset[Phrase]], min_overlap: float) -> None:
        self._every = every
        self._least = min_overlap
        self._common = Counter(phrase for phrases in every for phrase in phrases)
        self._with: defaultdict[Phrase, list[int]] = defaultdict(list)

    def add(self, index: int) -> None:
        for phrase in self._first(index):
            self._with[phrase].append(index)

    def like(self, index: int) -> Iterator[int]:
        """Those that overlap enough, in their order."""
        own = self._every[index]
        for leader in sorted({each for phrase in self._first(index) for each in self._with.get(phrase, ())}):
            both = len(own & self._every[leader])
            if both >= self._least * (len(own) + len(self._every[leader]) - both):
                yield leader

    def _first(self, index: int) -> list[Phrase]:
        phrases = self._every[index]
        needed = max(1, math.ceil(self._least * len(phrases) - 1e-9))
        rarest = sorted(phrases, key=lambda phrase: (self._common[phrase], phrase))
        return rarest[: len(phrases) - needed + 1]
