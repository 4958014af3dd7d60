"""What the graph leads to, behind the best hits: it cannot spoil the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kg_api.graph.search.passages import LaneHit
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.rank.diversity import thin_out
from kg_api.search.rank.order import join_further
from kg_api.search.rank.threshold import filter_of
from kg_api.search.retrieve.candidates import Ranking
from kg_api.search.retrieve.hits import CONCEPTS, Hit, below

KEPT = 5
"""Hits that stay where they are."""


def fill_from_graph(
    plan: SearchPlan, refined: Ranking, hits: Sequence[Hit], carried: Sequence[LaneHit], places: PlaceReader
) -> Ranking:
    """Join, behind the first hits, those that follow with what concepts lead to, by reciprocal rank.

    Args:
        plan: what is asked.
        refined: the hits in their order, read again, thinned out and made different where that was asked for.
        hits: those of before.
        carried: what concepts lead to, the best first.
        places: reads sources.
    """
    best = [hit._replace(passage_rank=rank) for rank, hit in enumerate(refined.hits[:KEPT], start=1)]
    reordered = plan.request.rerank or plan.request.mmr_lambda is not None
    joined = _joined(plan, best, refined.hits if reordered else hits, carried)
    every = [*best, *_behind(best, joined.hits)]
    return replace(
        refined, hits=thin_out(every, plan.request, places), lost=not_among(every, refined.lost, joined.lost)
    )


def not_among(shown: Sequence[Hit], *lost: Sequence[Hit]) -> list[Hit]:
    """What was lost on several ways, each once, and without what another way brought."""
    known = {hit.identity for hit in shown}
    every = {hit.identity: hit for each in lost for hit in each}
    return [hit for identity, hit in every.items() if identity not in known]


def _joined(
    plan: SearchPlan, best: Sequence[Hit], hits: Sequence[Hit], carried: Sequence[LaneHit]
) -> Ranking:
    """All that is not among the best; of what is not similar enough only what stands beside such as is.

    Ranks count what is thinned out later, on both sides.
    """
    known = {hit.identity for hit in best}
    rest = [hit for hit in hits if hit.identity not in known]
    there = {hit.found.source.source_id for hit in best}
    led = [each for each in carried if each.source.source_id not in there]
    similar = filter_of(plan)
    beside = similar.similar.keep_carried and any(similar.passes(hit) for hit in best)
    return similar.divide(join_further(rest, {CONCEPTS: led}), beside=beside)


def _behind(best: Sequence[Hit], joined: Sequence[Hit]) -> Iterator[Hit]:
    """With ranks that go on from the best, and scores below theirs."""
    least = min((hit.score for hit in best), default=0.0)
    for rank, hit in enumerate(below(least, joined), start=len(best) + 1):
        before = None if hit.passage_rank is None else hit.passage_rank + len(best)
        yield hit._replace(fused_rank=rank, passage_rank=before)
