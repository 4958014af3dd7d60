"""The lanes of a search, all in one round trip. A further lane is one class in `lanes_of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from kg_api.graph.database import Graph, Lookup, Row
from kg_api.graph.search.passages import LaneHit, LaneHits, NearestPassages, WordedPassages
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.hits import TEXT, VECTOR


class Lane(Protocol):
    """One way to find sources."""

    @property
    def name(self) -> str:
        """What its hits are ranked as; lanes of one name have one measure, and are one list."""
        ...

    @property
    def lookup(self) -> Lookup:
        """What the database is asked."""
        ...

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """What it found; it may ask for more."""
        ...


def lanes_of(plan: SearchPlan) -> Iterator[Lane]:
    """Those that a plan asks; what the first ones say of a hit is preferred."""
    if not plan.concepts_alone:
        yield from _vector_lanes(plan)
    if plan.asks_text:
        asked = plan.space_vectors
        yield from (TextLane(WordedPassages(query, asked, plan.depth)) for query in plan.full_text)


def _vector_lanes(plan: SearchPlan) -> Iterator[Lane]:
    request, usable = plan.request, plan.usable
    for each in plan.scope.spaces:
        known = usable.get(each.space.slug)
        if known is None or known.vector is None:
            continue
        nearest = NearestPassages(
            known.vector,
            each.space,
            each.filters,
            plan.depth,
            wanted=request.limit,
            exact=request.exact,
            each_chunk=request.group_by == "chunk",
        )
        yield VectorLane(nearest)


@dataclass(frozen=True, slots=True)
class VectorLane:
    """Finds by meaning, in one slot of a space."""

    nearest: NearestPassages

    @property
    def name(self) -> str:
        """Both slots of a space have one model."""
        return f"{VECTOR}{self.nearest.space.slug}"

    @property
    def lookup(self) -> Lookup:
        """The passages nearest to the question's vector."""
        return self.nearest.lookup

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """What it found; more, where many chunks are of few sources."""
        return self.nearest.hits(graph, found)


@dataclass(frozen=True, slots=True)
class TextLane:
    """Finds by words; where the filters name very many documents there are several."""

    worded: WordedPassages
    name: str = TEXT

    @property
    def lookup(self) -> Lookup:
        """The sources with the question's words."""
        return self.worded.lookup

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """What it found."""
        del graph
        return self.worded.hits(found)


def merge(found: Iterable[tuple[str, LaneHits]]) -> dict[str, Sequence[LaneHit]]:
    """One list a name: what was found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[LaneHit]] = {}
    for name, hits in found:
        both = [*lanes.get(name, ()), *hits.found]
        best_first = sorted(both, key=lambda each: (-each.score, each.source.source_id))
        lanes[name] = best_first if name in lanes else hits.found
    return lanes
