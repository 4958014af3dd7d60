"""What is near to one of two, and whether both are near to each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

KEPT = 10
"""Neighbours of each that are looked at: the nearest, and what shows whether a text is repeated."""
MAX_SOURCES = 50
"""A concept of more sources connects nothing."""


@dataclass(frozen=True, slots=True)
class Near:
    id: str
    similarity: float
    """Cosine."""
    part: int = 0
    """Of the one that was asked about, the number of its part that is nearest."""
    chunk_id: str | None = None
    """The part of this one that is nearest."""


Neighbours = Mapping[str, Sequence[Near]]
"""By id, the nearest first, none of the same document."""


def candidates(asked: Iterable[str], near: Neighbours, within: int, least: float) -> list[str]:
    """What is near enough to be looked at from its own side, and was not yet."""
    found = (each for own in asked for each in near.get(own, ())[:within])
    return list({each.id for each in found if each.similarity >= least} - near.keys())


def mutual_pairs(
    asked: Sequence[str], near: Neighbours, within: int, least: float
) -> Iterator[tuple[str, Near]]:
    """Those near enough of which each is among so many that are nearest to the other; each pair once.

    Args:
        asked: ids.
        near: the neighbours of these, and of all that are among theirs.
        within: so many.
        least: cosine.
    """
    seen = set[frozenset[str]]()
    for own in asked:
        for each in near.get(own, ())[:within]:
            pair = frozenset((own, each.id))
            if each.similarity < least or pair in seen:
                continue
            if any(back.id == own for back in near.get(each.id, ())[:within]):
                seen.add(pair)
                yield own, each


def contrast_of(own: str, near: Near, every: Neighbours) -> float:
    """How far two stand out: their cosine less the mean cosine of both with their other neighbours.

    What stands in a crowd of its like is near to all of it (cross-domain similarity local scaling: Conneau et
    al., ICLR 2018).
    """
    around = [
        each.similarity
        for end in (own, near.id)
        for each in every.get(end, ())
        if each.id not in {own, near.id}
    ]
    return near.similarity - (sum(around) / len(around) if around else 0.0)
