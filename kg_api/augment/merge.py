"""From the hits of all pieces to the passages that are given: nothing is left out uncounted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.models.queries.search import SourceHit
from kg_api.search.rank.diversity import limit_per_group
from kg_api.search.rank.duplicates import near_duplicates

Order = Literal["similarity", "rank"]


@dataclass(frozen=True, slots=True)
class PieceHit:
    piece: int
    """The piece's number."""
    rank: int
    """Among the piece's hits, from 1."""
    hit: SourceHit


@dataclass(frozen=True, slots=True)
class MergedPassage:
    """A source with all that found it, the nearest first."""

    found: tuple[PieceHit, ...]
    duplicates: tuple[str, ...] = ()

    @property
    def nearest(self) -> PieceHit:
        """What its similarity and text are of."""
        return self.found[0]

    @property
    def rank(self) -> int:
        """Its best place."""
        return min(each.rank for each in self.found)


@dataclass(frozen=True, slots=True)
class Choices:
    per_piece: int
    per_document: int | None
    limit: int
    deduplicate: bool
    by_rank: bool
    """Whether ranks are to decide, whatever the similarities."""


@dataclass(frozen=True, slots=True)
class PassageSelection:
    """The passages, the best first, and how many hits each step left out."""

    passages: list[MergedPassage]
    order: Order
    left_out: Counter[str]


def select(found: Sequence[PieceHit], choices: Choices) -> PassageSelection:
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
    passages = _merge(best, order)
    left_out["found_again"] = len(best) - len(passages)
    if choices.deduplicate:
        left_out["duplicates"], passages = _shorter(passages, _without_duplicates(passages))
    if choices.per_document is not None:
        kept = limit_per_group(passages, lambda each: each.nearest.hit.document_id, choices.per_document)
        left_out["beyond_per_document"], passages = _shorter(passages, kept)
    left_out["beyond_limit"], passages = _shorter(passages, passages[: choices.limit])
    return PassageSelection(passages, order, left_out)


def _best_of_each_piece(found: Iterable[PieceHit], most: int) -> list[PieceHit]:
    """Hits of a piece come in the order of their ranks."""
    return limit_per_group(sorted(found, key=lambda each: each.rank), lambda each: each.piece, most)


def _order(found: Sequence[PieceHit], *, by_rank: bool) -> Order:
    comparable = all(each.hit.similarity is not None for each in found)
    return (
        "rank" if by_rank or not comparable or len({each.hit.space for each in found}) > 1 else "similarity"
    )


def _merge(found: Iterable[PieceHit], order: Order) -> list[MergedPassage]:
    together: dict[tuple[str | int, ...], list[PieceHit]] = {}
    for each in sorted(found, key=_nearness):
        together.setdefault(_to_read(each.hit), []).append(each)
    passages = [MergedPassage(tuple(several)) for several in together.values()]
    if order == "similarity":
        return passages
    return sorted(passages, key=lambda passage: (passage.rank, *_nearness(passage.nearest)))


def _to_read(hit: SourceHit) -> tuple[str | int, ...]:
    """What stands for a hit in the context: several parts of one larger part are the same to the reader."""
    parent = hit.parent
    return (hit.document_id, parent.start, parent.end) if parent else (hit.source_id,)


def _nearness(each: PieceHit) -> tuple[float, int, int, str]:
    """The nearest first; equal ones always in the same order."""
    similarity = each.hit.similarity
    return 2.0 if similarity is None else -similarity, each.rank, each.piece, each.hit.source_id


def _without_duplicates(passages: Sequence[MergedPassage]) -> list[MergedPassage]:
    groups = near_duplicates([passage.nearest.hit.full_text for passage in passages])
    return [
        MergedPassage(passages[first].found, tuple(passages[at].nearest.hit.source_id for at in others))
        for first, *others in groups
    ]


def _shorter(before: Sequence[MergedPassage], after: list[MergedPassage]) -> tuple[int, list[MergedPassage]]:
    return len(before) - len(after), after
