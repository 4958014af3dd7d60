"""The lanes that are asked side by side, each one round trip. A further lane is one class in `lanes_of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from kg_api.graph.database import Graph
from kg_api.graph.search.passages import LaneHit, LaneHits, by_text, by_vector
from kg_api.models.embedding.spaces import FIRST_SLUG
from kg_api.search.plan.scope import SpaceScope
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.hits import TEXT, VECTOR


class Lane(Protocol):
    """One way to find sources."""

    @property
    def name(self) -> str:
        """What its hits are ranked as; lanes of one name have one measure, and are one list."""
        ...

    def retrieve(self, plan: SearchPlan) -> LaneHits:
        """Find as many as the plan is deep."""
        ...


def lanes_of(graph: Graph, plan: SearchPlan) -> Iterator[Lane]:
    """Those that a plan asks; what the first ones say of a hit is preferred."""
    if not plan.concepts_alone:
        usable = plan.usable
        yield from (VectorLane(graph, each) for each in plan.scope.spaces if each.space.slug in usable)
    if plan.asks_text:
        yield TextLane(graph)


@dataclass(frozen=True, slots=True)
class VectorLane:
    """Finds by meaning, in one slot of a space."""

    graph: Graph
    scope: SpaceScope

    @property
    def name(self) -> str:
        """Both slots of a space have one model."""
        return f"{VECTOR}{self.scope.space.slug}"

    def retrieve(self, plan: SearchPlan) -> LaneHits:
        """Find the passages nearest to the question's vector."""
        space, request = self.scope.space, plan.request
        vector = plan.usable[space.slug].vector
        if vector is None:
            return LaneHits([], cut=False)
        with plan.watch.stage("vector" if space.key == FIRST_SLUG else f"vector_{space.key}"):
            return by_vector(
                self.graph,
                vector,
                space,
                self.scope.filters,
                plan.depth,
                wanted=request.limit,
                exact=request.exact,
                each_chunk=request.group_by == "chunk",
            )


@dataclass(frozen=True, slots=True)
class TextLane:
    """Finds by words."""

    graph: Graph
    name: str = TEXT

    def retrieve(self, plan: SearchPlan) -> LaneHits:
        """Find the sources with the question's words."""
        asked = plan.space_vectors
        with plan.watch.stage("text"):
            found = (by_text(self.graph, each, asked, plan.depth) for each in plan.full_text)
            best_first = sorted(chain(*found), key=lambda each: (-each.score, each.source.source_id))
        return LaneHits(best_first[: plan.depth], cut=len(best_first) >= plan.depth)


def merge_slots(found: Iterable[tuple[Lane, LaneHits]]) -> dict[str, Sequence[LaneHit]]:
    """One list a name: what was found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[LaneHit]] = {}
    for lane, hits in found:
        both = [*lanes.get(lane.name, ()), *hits.found]
        lanes[lane.name] = sorted(both, key=lambda each: -each.score) if lane.name in lanes else hits.found
    return lanes
