"""From what the lanes found to one order of what is similar enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kg_api.concepts.ranks import RRF_K
from kg_api.graph.search.passages import LaneHit
from kg_api.models.embedding.spaces import USUAL
from kg_api.models.vocabulary import GroupBy
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.rank.diversity import limit_per_group, thin_out
from kg_api.search.rank.fusion import LaneScores, fuse
from kg_api.search.rank.pages import can_go_deeper
from kg_api.search.rank.threshold import filter_of
from kg_api.search.retrieve.candidates import Candidates, Ranking
from kg_api.search.retrieve.hits import (
    CONCEPTS,
    PICTURES,
    TEXT,
    VECTOR,
    Hit,
    LaneContribution,
    identity_of,
)


def order(plan: SearchPlan, candidates: Candidates) -> Ranking:
    """Fuse what was found, and leave out what is not similar enough."""
    hits = fuse_lanes(plan, candidates) if candidates.fused is None else candidates.fused
    further = {name: lane for name, lane in candidates.lanes.items() if name.startswith(PICTURES)}
    if candidates.fused is not None and not plan.request.graph:  # that comes behind the first hits
        further[CONCEPTS] = candidates.carried
    return filter_of(plan).apply(join_further(hits, further) if further else hits)


def falls_short(plan: SearchPlan, candidates: Candidates, ranking: Ranking, places: PlaceReader) -> bool:
    """Whether deeper lanes may make an answer longer that is too short for what is left out."""
    request = plan.request
    leaves_out = request.per_document is not None or request.collapse_duplicates or plan.similar.least
    if not (leaves_out and can_go_deeper(plan, candidates)):
        return False
    with plan.watch.stage("thin_out"):
        return len(thin_out(ranking.hits, request, places)) < request.limit


def fuse_lanes(plan: SearchPlan, candidates: Candidates) -> list[Hit]:
    """All that lanes found, fused; of a parent only its best child, unless each chunk is a hit."""
    request = plan.request
    with plan.watch.stage("fuse"):
        own = {name: lane for name, lane in candidates.lanes.items() if not name.startswith(PICTURES)}
        lanes = _point(own, request.group_by)
        found = _merge_lanes(lanes, request.group_by)
        joined = fuse(
            list(_lane_scores(lanes, plan)),
            request.fusion,
            rrf_k=request.rrf_k,
            vector_weight=request.vector_weight,
        )
        hits = [
            Hit(found[identity], identity, each.score, each.parts, fused_rank=rank, fused_score=each.score)
            for rank, (identity, each) in enumerate(joined.items(), 1)
        ]
        return hits if request.group_by == "chunk" else _first_of_each_parent(hits)


def join_further(hits: Sequence[Hit], further: Mapping[str, Sequence[LaneHit]]) -> list[Hit]:
    """Join what vectors and words found with what concepts and spaces of pictures did, by reciprocal rank."""
    joined = {
        hit.identity: hit._replace(passage_rank=rank, score=1 / (RRF_K + rank))
        for rank, hit in enumerate(hits, start=1)
    }
    for name, lane in further.items():
        led = {found.source.source_id: (rank, found) for rank, found in enumerate(lane, start=1)}
        known = {hit.found.source.source_id for hit in joined.values()}
        joined |= {each: Hit(found, each, 0.0) for each, (_, found) in led.items() if each not in known}
        joined = {identity: _join(hit, name, led) for identity, hit in joined.items()}
    ordered = sorted(joined.values(), key=lambda hit: -hit.score)  # of equal ones the first found
    return [hit._replace(fused_rank=rank, fused_score=hit.score) for rank, hit in enumerate(ordered, start=1)]


def _join(hit: Hit, name: str, led: Mapping[str, tuple[int, LaneHit]]) -> Hit:
    if hit.found.source.source_id not in led:
        return hit
    rank, found = led[hit.found.source.source_id]
    part = LaneContribution(name, rank, found.score, 1.0, 1 / (RRF_K + rank))
    told = hit.found._replace(through=found.through or hit.found.through)
    return hit._replace(found=told, score=hit.score + part.contribution, parts=(*hit.parts, part))


Lanes = Mapping[str, Sequence[LaneHit]]


def _point(lanes: Lanes, group_by: GroupBy) -> Lanes:
    """Let a chunk over several sources stand for the one that the words point at, if they do."""
    words = {found.source.source_id: found for found in lanes.get(TEXT, ())}
    return {
        name: _first_of_each(lane, words, group_by) if name.startswith(VECTOR) else lane
        for name, lane in lanes.items()
    }


def _first_of_each(lane: Sequence[LaneHit], words: Mapping[str, LaneHit], group_by: GroupBy) -> list[LaneHit]:
    """The lane with each hit once: two chunks may point at one source."""
    first: dict[str, LaneHit] = {}
    for each in lane:
        pointed = _pointing(each, words)
        first.setdefault(identity_of(pointed, group_by), pointed)
    return list(first.values())


def _pointing(each: LaneHit, words: Mapping[str, LaneHit]) -> LaneHit:
    if each.chunk is None or len(each.chunk.covers) == 1:
        return each
    there = [words[identity] for identity in each.chunk.covers if identity in words]
    return each._replace(source=max(there, key=lambda found: found.score).source) if there else each


def _lane_scores(lanes: Lanes, plan: SearchPlan) -> Iterator[LaneScores]:
    for name, lane in lanes.items():
        best_first: dict[str, float] = {}
        for each in lane:
            best_first.setdefault(identity_of(each, plan.request.group_by), each.score)
        if name.startswith(VECTOR):
            slug = name.removeprefix(VECTOR)
            calibration = plan.scope.calibrations.get(slug) or USUAL
            yield LaneScores(name, best_first, _further(lanes, slug, plan), calibration)
        else:
            yield LaneScores(name, best_first)


def _further(lanes: Lanes, slug: str, plan: SearchPlan) -> dict[str, float]:
    """The similarity of what words found, where it is of this lane's model."""
    return {
        identity_of(each, plan.request.group_by): each.similarity
        for each in lanes.get(TEXT, ())
        if each.similarity is not None and plan.scope.space_of(each.source.ontology) == slug
    }


def _merge_lanes(lanes: Lanes, group_by: GroupBy) -> dict[str, LaneHit]:
    """By identity; the first lanes are preferred, for those of vectors know the chunk that matched."""
    return {
        identity_of(each, group_by): each for lane in reversed([*lanes.values()]) for each in reversed(lane)
    }


def _first_of_each_parent(hits: Sequence[Hit]) -> list[Hit]:
    def parent(hit: Hit) -> str:
        chunk = hit.found.chunk
        return hit.identity if chunk is None or chunk.parent_id is None else chunk.parent_id

    return limit_per_group(hits, parent, 1)
