"""Which types of relationships may say the same. Pure: nothing is merged here.

Names are compared, by their vectors. A name alone tells types apart better than in a sentence, where all are
alike; and two things that vectors do not see are seen to by rules: a denial, and who does it to whom
(adr/0070).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.models.identity import concept_name
from kg_api.models.vocabulary import Stance

NEGATIONS: Final = frozenset({"not", "no", "never", "without", "cannot", "non", "n't", "neither", "nor"})
BLOCK: Final = 500
"""Types compared with all at once."""


class ComparableType(Protocol):
    @property
    def type_id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def stance(self) -> Stance:
        """What it says for or against."""
        ...


def alike(
    types: Sequence[ComparableType], vectors: Mapping[str, NDArray[np.float32]], least: float
) -> list[tuple[int, list[tuple[int, float]]]]:
    """Groups of types of which the names are alike: each type is in one, and near to the first of its group.

    Args:
        types: the most frequent first; those come to stand for their groups.
        vectors: of the types' names.
        least: the cosine of names that are near enough.

    Returns:
        The places in `types` of those that stand for a group, each with the places of the others and how
        similar they are, the nearest first.
    """
    there = [at for at, each in enumerate(types) if each.type_id in vectors]
    taken, groups = set[int](), list[tuple[int, list[tuple[int, float]]]]()
    for at, cosines in _near(there, [vectors[types[at].type_id] for at in there], least):
        if at in taken:
            continue
        near = [
            (other, cosine)
            for other, cosine in cosines
            if other > at and other not in taken and may_mean(types[at], types[other])
        ]
        if near:
            taken |= {at, *(other for other, _ in near)}
            groups.append((at, sorted(near, key=lambda each: (-each[1], each[0]))))
    return groups


def may_mean(one: ComparableType, other: ComparableType) -> bool:
    """Whether two types may say the same, as far as rules tell: not where one denies, or turns it round."""
    if one.stance != other.stance:
        return False
    words, more = (concept_name(each.name).split() for each in (one, other))
    return _denies(words) == _denies(more) and _is_passive(words) == _is_passive(more)


def _near(
    places: Sequence[int], vectors: Sequence[NDArray[np.float32]], least: float
) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Each place with those whose vectors are near enough to its own, and their cosines."""
    if not places:
        return
    matrix = np.stack(vectors)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    for begin in range(0, len(places), BLOCK):
        block = matrix[begin : begin + BLOCK] @ matrix.T
        for row, at in zip(block, places[begin : begin + BLOCK], strict=True):
            yield at, [(places[other], float(row[other])) for other in map(int, np.flatnonzero(row >= least))]


def _denies(words: Sequence[str]) -> bool:
    return len(NEGATIONS.intersection(words)) % 2 == 1


def _is_passive(words: Sequence[str]) -> bool:
    """As in "published by"."""
    return len(words) > 1 and words[-1] == "by"
