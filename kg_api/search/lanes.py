"""What the lanes of a search found. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg_api.graph.passages import Found
from kg_api.models.search import GroupBy

TEXT = "text"
VECTOR = "vector:"
CONCEPTS = "concepts"


@dataclass(frozen=True, slots=True)
class Lanes:
    """What each lane found, the best first; None for a lane that was not asked."""

    vectors: Mapping[str, Sequence[Found]] = field(default_factory=dict[str, Sequence[Found]])
    """By space: similarities of two models cannot be compared, so each has a lane of its own."""
    text: Sequence[Found] | None = None
    cut: bool = False
    """Whether a lane was asked for as many as it gave: there may be more."""

    @property
    def asked(self) -> dict[str, Sequence[Found]]:
        """The lanes that were asked, by name: that of a space by its slug."""
        vectors = {f"{VECTOR}{slug}": lane for slug, lane in self.vectors.items()}
        return vectors if self.text is None else {**vectors, TEXT: self.text}

    def pointed(self, group_by: GroupBy = "source") -> Lanes:
        """Let a chunk over several sources stand for the one that the words point at, if they do."""
        words = {found.place.source_id: found for found in self.text or ()}
        return replace(
            self,
            vectors={slug: _first_of_each(lane, words, group_by) for slug, lane in self.vectors.items()},
        )


def identity_of(found: Found, group_by: GroupBy = "source") -> str:
    """What makes two findings one hit: the source, or the chunk."""
    return found.chunk.chunk_id if group_by == "chunk" and found.chunk else found.place.source_id


def of_models(found: Iterable[tuple[str, Sequence[Found]]]) -> dict[str, Sequence[Found]]:
    """One lane a model: what it found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[Found]] = {}
    for slug, lane in found:
        both = [*lanes.get(slug, ()), *lane]
        lanes[slug] = sorted(both, key=lambda each: -each.score) if slug in lanes else lane
    return lanes


def _first_of_each(lane: Sequence[Found], words: Mapping[str, Found], group_by: GroupBy) -> list[Found]:
    """The lane with each hit once: two chunks may point at one source."""
    first: dict[str, Found] = {}
    for each in lane:
        pointed = _pointed(each, words)
        first.setdefault(identity_of(pointed, group_by), pointed)
    return list(first.values())


def _pointed(each: Found, words: Mapping[str, Found]) -> Found:
    if each.chunk is None or len(each.chunk.covers) == 1:
        return each
    there = [words[identity] for identity in each.chunk.covers if identity in words]
    return replace(each, place=max(there, key=lambda found: found.score).place) if there else each
