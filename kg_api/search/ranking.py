"""From what the lanes found to an order: fuse, leave out, read again, make different. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.passages import Found
from kg_api.models.search import GroupBy, Ranks, SourceSearch
from kg_api.models.spaces import USUAL, Contrast
from kg_api.search.diversity import marginal_relevance, most_of_each, similarities
from kg_api.search.duplicates import near_duplicates
from kg_api.search.fusion import RRF_K, Fused, LaneScores, Part, fuse
from kg_api.search.lanes import CONCEPTS, TEXT, VECTOR, Lanes, identity_of

MOST_COMPARED = 500
"""Hits whose texts are compared with each other, five times the largest answer."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found, with all that brought it to its place."""

    found: Found
    identity: str
    score: float
    """What the hits are ordered by at the moment."""
    parts: tuple[Part, ...] = ()
    fused_rank: int = 0
    fused_score: float = 0.0
    rerank_score: float | None = None
    rerank_rank: int | None = None
    mmr_rank: int | None = None
    duplicates: tuple[str, ...] = ()
    passage_rank: int | None = None
    """Among what vectors and words found, before concepts came in."""

    @property
    def ranks(self) -> Ranks:
        """A source is in one ontology and so in one space: one vector lane at most has it."""
        ranks = {part.lane: part.rank for part in self.parts}
        vector = [rank for lane, rank in ranks.items() if lane.startswith(VECTOR) and rank is not None]
        return Ranks(vector=min(vector, default=None), text=ranks.get(TEXT), concepts=ranks.get(CONCEPTS))


@dataclass(frozen=True, slots=True)
class Measure:
    """How the lanes are joined."""

    request: SourceSearch
    contrasts: Mapping[str, Contrast | None]
    """Of each space's model."""
    space_of: Callable[[str], str]
    """The space that an ontology answers by."""


def fused(lanes: Lanes, measure: Measure) -> list[Hit]:
    """All that was found, fused; of a parent only its best child, unless each chunk is a hit."""
    group_by = measure.request.group_by
    found = _found(lanes, group_by)
    request = measure.request
    joined = fuse(
        _lane_scores(lanes, measure),
        request.fusion,
        rrf_k=request.rrf_k,
        vector_weight=request.vector_weight,
    )
    hits = [
        _hit(found[identity], identity, rank, each) for rank, (identity, each) in enumerate(joined.items(), 1)
    ]
    return hits if group_by == "chunk" else _first_of_each_parent(hits)


def with_carried(hits: Sequence[Hit], carried: Sequence[Found]) -> list[Hit]:
    """Join what vectors and words found with what concepts led to, by reciprocal rank."""
    led = {found.place.source_id: (rank, found) for rank, found in enumerate(carried, start=1)}
    joined = [_joined(replace(hit, passage_rank=rank), led) for rank, hit in enumerate(hits, start=1)]
    known = {hit.found.place.source_id for hit in hits}
    new = [Hit(found, identity, 0.0) for identity, (_, found) in led.items() if identity not in known]
    joined += [_joined(hit, led) for hit in new]
    ordered = sorted(joined, key=lambda hit: (-hit.score, hit.identity))
    return [replace(hit, fused_rank=rank, fused_score=hit.score) for rank, hit in enumerate(ordered, start=1)]


def _joined(hit: Hit, led: Mapping[str, tuple[int, Found]]) -> Hit:
    own = 0.0 if hit.passage_rank is None else 1 / (RRF_K + hit.passage_rank)
    if hit.found.place.source_id not in led:
        return replace(hit, score=own)
    rank, found = led[hit.found.place.source_id]
    part = Part(CONCEPTS, rank, found.score, 1.0, 1 / (RRF_K + rank))
    told = replace(hit.found, through=found.through)
    return replace(hit, found=told, score=own + part.value, parts=(*hit.parts, part))


def reranked(hits: Sequence[Hit], scores: Sequence[float], blended: Sequence[float]) -> list[Hit]:
    """Hits that were read, in the order of their blended scores."""
    given = zip(hits, scores, blended, strict=True)
    read = [replace(hit, score=value, rerank_score=score) for hit, score, value in given]
    ordered = sorted(read, key=lambda hit: (-hit.score, hit.fused_rank))
    return [replace(hit, rerank_rank=rank) for rank, hit in enumerate(ordered, start=1)]


def behind(first: Sequence[Hit], rest: Sequence[Hit]) -> list[Hit]:
    """Hits that were not read, in their order, with scores below those that were."""
    if not first:
        return list(rest)
    least = min(hit.score for hit in first)
    return [replace(hit, score=least - number * 1e-6) for number, hit in enumerate(rest, start=1)]


def thinned(hits: list[Hit], request: SourceSearch) -> list[Hit]:
    """Near-duplicates once, and no more of a document than were asked for."""
    if request.collapse_duplicates:
        hits = without_duplicates(hits[:MOST_COMPARED])
    if request.per_document is not None:
        hits = per_document(hits, request.per_document)
    return hits


def without_duplicates(hits: Sequence[Hit]) -> list[Hit]:
    """The first of each group of near-duplicates, naming the others."""
    groups = near_duplicates([hit.found.place.full_text for hit in hits])
    return [
        replace(hits[first], duplicates=tuple(hits[other].found.place.source_id for other in others))
        for first, *others in groups
    ]


def per_document(hits: Sequence[Hit], most: int) -> list[Hit]:
    """At most so many of a document."""
    return most_of_each(hits, lambda hit: hit.found.place.document_id, most)


def diverse(
    hits: Sequence[Hit],
    vectors: Mapping[str, NDArray[np.float32]],
    measure: Measure,
    limit: int,
) -> list[Hit]:
    """In the order of maximal marginal relevance; one without a vector counts as unlike all others."""
    weight = measure.request.mmr_lambda
    if weight is None:
        return list(hits)
    spaces = [measure.space_of(hit.found.place.ontology) for hit in hits]
    near = similarities([vectors.get(hit.identity) for hit in hits], spaces)
    chosen = marginal_relevance([hit.score for hit in hits], near, weight, limit)
    return [replace(hits[at], score=value, mmr_rank=rank) for rank, (at, value) in enumerate(chosen, start=1)]


def _lane_scores(lanes: Lanes, measure: Measure) -> list[LaneScores]:
    given: list[LaneScores] = []
    for name, lane in lanes.asked.items():
        best_first: dict[str, float] = {}
        for each in lane:
            best_first.setdefault(identity_of(each, measure.request.group_by), each.score)
        slug = name.removeprefix(VECTOR)
        if name == TEXT:
            given.append(LaneScores(name, best_first))
        else:
            contrast = measure.contrasts.get(slug) or USUAL
            given.append(LaneScores(name, best_first, _further(lanes, slug, measure), contrast))
    return given


def _further(lanes: Lanes, slug: str, measure: Measure) -> dict[str, float]:
    """The similarity of what words found, where it is of this lane's model."""
    return {
        identity_of(each, measure.request.group_by): each.similarity
        for each in lanes.text or ()
        if each.similarity is not None and measure.space_of(each.place.ontology) == slug
    }


def _found(lanes: Lanes, group_by: GroupBy) -> dict[str, Found]:
    """By identity; what a lane of vectors says is preferred, for it knows the chunk that matched."""
    return {
        identity_of(each, group_by): each
        for lane in reversed([*lanes.asked.values()])
        for each in reversed(lane)
    }


def _hit(found: Found, identity: str, rank: int, each: Fused) -> Hit:
    return Hit(found, identity, each.score, each.parts, fused_rank=rank, fused_score=each.score)


def _first_of_each_parent(hits: Iterable[Hit]) -> list[Hit]:
    def parent(hit: Hit) -> str:
        chunk = hit.found.chunk
        return hit.identity if chunk is None or chunk.parent_id is None else chunk.parent_id

    return most_of_each(hits, parent, 1)
