"""From the hits of all pieces to the passages that are given: nothing is left out uncounted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.models.search import SourceHit
from kg_api.search.duplicates import near_duplicates

Order = Literal["similarity", "rank"]


@dataclass(frozen=True, slots=True)
class Found:
    """A hit of one piece."""

    piece: int
    """The piece's number."""
    rank: int
    """Among the piece's hits, from 1."""
    hit: SourceHit


@dataclass(frozen=True, slots=True)
class Passage:
    """A source with all that found it, the nearest first."""

    found: tuple[Found, ...]
    duplicates: tuple[str, ...] = ()

    @property
    def nearest(self) -> Found:
        """What its similarity and text are of."""
        return self.found[0]

    @property
    def rank(self) -> int:
        """Its best place."""
        return min(each.rank for each in self.found)


@dataclass(frozen=True, slots=True)
class Choices:
    """What is kept."""

    per_piece: int
    per_document: int | None
    limit: int
    deduplicate: bool
    by_rank: bool
    """Whether ranks are to decide, whatever the similarities."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages, the best first, and how many hits each step left out."""

    passages: list[Passage]
    order: Order
    left_out: Counter[str]


def select(found: Sequence[Found], choices: Choices) -> Selection:
    """Choose passages; the searches left out already what is not similar enough.

    The steps: of each piece the best remain, a passage that several pieces found is one, near-duplicates are
    one, each document gives its best, and then there is the limit. What the best is by is the same for all:
    the similarity where all have one of the same space, else the rank.

    Args:
        found: the hits of all pieces.
        choices: what is kept.
    """
    left_out: Counter[str] = Counter()
    best = _best_of_each_piece(found, choices.per_piece)
    left_out["beyond_per_piece"] = len(found) - len(best)
    order = _order(best, by_rank=choices.by_rank)
    passages = _merged(best, order)
    left_out["found_again"] = len(best) - len(passages)
    if choices.deduplicate:
        left_out["duplicates"], passages = _shorter(passages, _without_duplicates(passages))
    if choices.per_document is not None:
        kept = _best_of_each_document(passages, choices.per_document)
        left_out["beyond_per_document"], passages = _shorter(passages, kept)
    left_out["beyond_limit"], passages = _shorter(passages, passages[: choices.limit])
    return Selection(passages, order, left_out)


def _best_of_each_piece(found: Iterable[Found], most: int) -> list[Found]:
    """Hits of a piece come in the order of their ranks."""
    taken: Counter[int] = Counter()
    kept: list[Found] = []
    for each in sorted(found, key=lambda each: each.rank):
        if taken[each.piece] < most:
            taken[each.piece] += 1
            kept.append(each)
    return kept


def _order(found: Sequence[Found], *, by_rank: bool) -> Order:
    comparable = all(each.hit.similarity is not None for each in found)
    return (
        "rank" if by_rank or not comparable or len({each.hit.space for each in found}) > 1 else "similarity"
    )


def _merged(found: Iterable[Found], order: Order) -> list[Passage]:
    together: dict[tuple[str | int, ...], list[Found]] = {}
    for each in sorted(found, key=_nearness):
        together.setdefault(_to_read(each.hit), []).append(each)
    passages = [Passage(tuple(several)) for several in together.values()]
    if order == "similarity":
        return passages
    return sorted(passages, key=lambda passage: (passage.rank, *_nearness(passage.nearest)))


def _to_read(hit: SourceHit) -> tuple[str | int, ...]:
    """What stands for a hit in the context: several parts of one larger part are the same to the reader."""
    parent = hit.parent
    return (hit.document_id, parent.start, parent.end) if parent else (hit.source_id,)


def _nearness(each: Found) -> tuple[float, int, int, str]:
    """The nearest first; equal ones always in the same order."""
    similarity = each.hit.similarity
    return 2.0 if similarity is None else -similarity, each.rank, each.piece, each.hit.source_id


def _without_duplicates(passages: Sequence[Passage]) -> list[Passage]:
    groups = near_duplicates([passage.nearest.hit.full_text for passage in passages])
    return [
        Passage(passages[first].found, tuple(passages[at].nearest.hit.source_id for at in others))
        for first, *others in groups
    ]


def _best_of_each_document(passages: Iterable[Passage], most: int) -> list[Passage]:
    taken: Counter[str] = Counter()
    kept: list[Passage] = []
    for passage in passages:
        document = passage.nearest.hit.document_id
        taken[document] += 1
        if taken[document] <= most:
            kept.append(passage)
    return kept


def _shorter(before: Sequence[Passage], after: list[Passage]) -> tuple[int, list[Passage]]:
    return len(before) - len(after), after
