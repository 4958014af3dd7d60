"""From what is near to a source to what is told of it: each source once, near-duplicates together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.graph.search.similar import NearSource
from kg_api.models.queries.places import Place
from kg_api.models.queries.similarity import Duplicate
from kg_api.search.rank.duplicates import near_duplicates


@dataclass(frozen=True, slots=True)
class Group:
    """A source that is like the one asked for, with others that say almost the same as it."""

    first: NearSource
    near_duplicate: bool
    """Whether it says almost the same as the one asked for."""
    others: list[NearSource] = field(default_factory=list[NearSource])

    @property
    def duplicates(self) -> list[Duplicate]:
        """The others, as the answer has them."""
        return [duplicate_of(near.place, near.similarity) for near in self.others]


def duplicate_of(place: Place, similarity: float | None) -> Duplicate:
    """Where a near-duplicate stands."""
    return Duplicate(**place.model_dump(include=_NAMES), similarity=similarity)


_NAMES = set(Duplicate.model_fields) - {"similarity"}


def each_once(found: Sequence[NearSource], own: str, least: float | None) -> Iterator[NearSource]:
    """The nearest passage of each source, and of each parent, without those that hold the source itself.

    Args:
        found: the nearest first.
        own: id of the source that was asked for.
        least: what is less similar is left out.
    """
    sources, parents = {own}, set[str]()
    for near in found:
        if least is not None and near.similarity < least:
            return
        if near.place.source_id in sources or own in near.covers or near.parent_id in parents:
            continue
        sources.add(near.place.source_id)
        if near.parent_id is not None:
            parents.add(near.parent_id)
        yield near


def group_duplicates(own: Place, found: Sequence[NearSource], *, together: bool) -> list[Group]:
    """Find near-duplicates of the source, and of each other.

    Args:
        own: the source that was asked for.
        found: each source once, the nearest first.
        together: give near-duplicates of each other as one.
    """
    groups = together_by_words(own, [near.place for near in found], together=together)
    return [
        Group(found[first], copy, [found[other] for other in others]) for copy, (first, *others) in groups
    ]


def together_by_words(own: Place, places: Sequence[Place], *, together: bool) -> list[tuple[bool, list[int]]]:
    """Groups of places by their numbers, and whether they say almost the same as the source asked for."""
    groups = near_duplicates([own.full_text, *(place.full_text for place in places)])
    copies = {index - 1 for index in groups[0]}
    if not together:
        return [(at in copies, [at]) for at in range(len(places))]
    members = [[index - 1 for index in group if index] for group in groups]
    return [(group[0] in copies, group) for group in sorted(filter(None, members))]
