"""How well retrieved spans cover what answers a question, by the rules of chunking_evaluation.

Those rules: lengths are characters; what is retrieved counts as often as it is retrieved, so overlap costs
precision; a chunk of another corpus counts as retrieved and covers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one question, each from 0 to 1."""

    recall: float
    precision: float
    iou: float


def scores(references: Sequence[Range], retrieved: Sequence[Range], elsewhere: int) -> Scores:
    """Score what was retrieved from the question's own corpus.

    Args:
        references: what answers the question.
        retrieved: the chunks of the question's corpus, as often as they were retrieved.
        elsewhere: characters retrieved from other corpora.
    """
    covered, missed = _cover(references, retrieved)
    read = _length(retrieved) + elsewhere
    return Scores(
        recall=covered / _length(references),
        precision=covered / read if read else 0,
        iou=covered / (read + _length(missed)) if read else 0,
    )


def omega(references: Sequence[Range], chunks: Sequence[Range]) -> float:
    """The precision when each chunk that touches a reference is retrieved, and no other."""
    touching = [chunk for chunk in chunks if any(_common(chunk, each) for each in references)]
    covered, missed = _cover(references, touching)
    return covered / _length(_union([*touching, *missed]))


def _cover(references: Sequence[Range], chunks: Sequence[Range]) -> tuple[int, list[Range]]:
    """Characters of the references that lie in chunks, and the ranges that do not."""
    found = list[Range]()
    missed = list(references)
    for chunk in chunks:
        for reference in references:
            if common := _common(chunk, reference):
                found.append(common)
                missed = _without(missed, common)
    return _length(_union(found)), missed


def _common(one: Range, other: Range) -> Range | None:
    start, end = max(one[0], other[0]), min(one[1], other[1])
    return (start, end) if start <= end else None  # touching is enough, as in the original


def _without(ranges: Sequence[Range], cut: Range) -> list[Range]:
    left: list[Range] = []
    for start, end in ranges:
        if end < cut[0] or start > cut[1]:
            left.append((start, end))
            continue
        left += [part for part in ((start, cut[0]), (cut[1], end)) if part[0] < part[1]]
    return left


def _union(ranges: Sequence[Range]) -> list[Range]:
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _length(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)
