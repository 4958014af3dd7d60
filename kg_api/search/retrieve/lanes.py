"""The lanes of a search, all in one round trip. A further lane is one line in `lanes_of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kg_api.graph.database import Graph, Lookup, Row
from kg_api.graph.search.passages import LaneHit, LaneHits, NearestPassages, SpaceVectors
from kg_api.graph.search.pictures import NearestPictures
from kg_api.graph.search.words import WordedAmong, WordedPassages
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.hits import PICTURES, TEXT, VECTOR


class Passages(Protocol):
    """One way to find sources."""

    @property
    def lookup(self) -> Lookup: ...

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """What it found; it may ask for more."""
        ...


@dataclass(frozen=True, slots=True)
class Lane:
    """What is found in one way, and what its hits are ranked as.

    Lanes of one name have one measure, and are one list: both slots of a space, and the words of several
    queries where the filters name very many documents.
    """

    name: str
    passages: Passages


def lanes_of(plan: SearchPlan) -> Iterator[Lane]:
    """Those that a plan asks; what the first ones say of a hit is preferred."""
    if not plan.concepts_alone:
        yield from (Lane(f"{VECTOR}{each.space.slug}", each) for each in _nearest(plan))
    yield from word_lanes(plan)
    yield from (Lane(f"{PICTURES}{each.space.slug}", each) for each in _pictured(plan))


def word_lanes(plan: SearchPlan) -> Iterator[Lane]:
    """Those of words alone."""
    if plan.asks_text:
        asked = plan.space_vectors
        yield from (Lane(TEXT, _worded(plan, query, asked)) for query in plan.full_text)


def _worded(plan: SearchPlan, query: str, asked: SpaceVectors) -> Passages:
    pairs, watched = plan.word_pairs, plan.wording.watched
    if plan.words_among is None and not plan.filters.sources:
        return WordedPassages(query, asked, plan.depth, pairs, watched)
    return WordedAmong(query, asked, plan.depth, plan.words_among, pairs, watched, plan.filters.sources)


def _nearest(plan: SearchPlan) -> Iterator[NearestPassages]:
    request, usable = plan.request, plan.usable
    for each in plan.scope.spaces:
        known = usable.get(each.space.slug)
        if known is None or known.vector is None:
            continue
        yield NearestPassages(
            known.vector,
            each.space,
            replace(each.filters, sources=plan.filters.sources),
            plan.depth,
            wanted=plan.depth if plan.filters.sources else request.limit,
            exact=request.exact,
            each_chunk=request.group_by == "chunk",
            candidates=plan.candidates(each.filters),
        )


def _pictured(plan: SearchPlan) -> Iterator[NearestPictures]:
    for each in plan.pictures:
        if each.vector is not None:
            within = plan.filters.document_ids
            yield NearestPictures(
                each.vector,
                each.space,
                each.ontologies,
                within,
                plan.depth,
                plan.space_vectors,
                plan.filters.sources,
            )


def merge(found: Iterable[tuple[str, LaneHits]]) -> dict[str, Sequence[LaneHit]]:
    """One list a name: what was found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[LaneHit]] = {}
    for name, hits in found:
        both = [*lanes.get(name, ()), *hits.found]
        best_first = sorted(both, key=lambda each: (-each.score, each.source.source_id))
        lanes[name] = best_first if name in lanes else hits.found
    return lanes
