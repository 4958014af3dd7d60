"""Pages: the hits of one, out of all in their order.

What the first look at the lanes found comes first, in its order; then what is new at each deeper one. So the
order of a walk is one and the same, however deep it goes, and the first page is what it was without pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.graph.search.passages import MAX_CHUNKS
from kg_api.models.queries.search import Degradation
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.rank.diversity import MAX_COMPARED
from kg_api.search.rank.threshold import filter_of
from kg_api.search.retrieve.candidates import Candidates, Ranking
from kg_api.search.retrieve.hits import Hit


def is_short(plan: SearchPlan, hits: Sequence[Hit]) -> bool:
    """Whether a page behind the first one is not full."""
    return bool(plan.page.given) and len(_left(plan, hits)) < plan.request.limit


def can_go_deeper(plan: SearchPlan, candidates: Candidates) -> bool:
    """Whether deeper lanes may find more, and may be asked."""
    return plan.depth < MAX_CHUNKS and _there_may_be_more(plan, candidates)


def _there_may_be_more(plan: SearchPlan, candidates: Candidates) -> bool:
    """Not where a lane, which is ordered by similarity, reached what is not similar enough."""
    hidden = not plan.similar.least or filter_of(plan).may_hide(candidates, plan.scope.slugs)
    return candidates.cut and hidden


def take_page(
    plan: SearchPlan, candidates: Candidates, ranking: Ranking, found: int, places: PlaceReader
) -> Ranking:
    """The hits of the page, and whether there may be more.

    Args:
        plan: what is asked.
        candidates: what the lanes found.
        ranking: that in its order, thinned out.
        found: how many it was before.
        places: reads their sources.
    """
    left = _left(plan, ranking.hits)
    with plan.watch.stage("tell"):
        shown = _first_there(left, plan.request.limit, places)
    beyond = len(left) > plan.request.limit or _were_left_out(plan, left, found)
    more = beyond or can_go_deeper(plan, candidates)
    if plan.page.given and not more and _there_may_be_more(plan, candidates):
        effect = f"no search looks at more than the first {MAX_CHUNKS:,} of each lane; there may be more"
        plan.notes.record("page", [Degradation(part="query", effect=effect)])
    return replace(ranking, hits=shown, more=more)


def _were_left_out(plan: SearchPlan, left: Sequence[Hit], found: int) -> bool:
    """Whether hits were not compared for near-duplicates, and so left to further pages."""
    looked = bool(plan.page.given) and len(left) < plan.request.limit
    return plan.request.collapse_duplicates and found > MAX_COMPARED and not looked


def _left(plan: SearchPlan, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Those that no page before had."""
    return [hit for hit in hits if not plan.page.gave(hit.identity)] if plan.page.given else hits


def _first_there(hits: Sequence[Hit], limit: int, places: PlaceReader) -> list[Hit]:
    """The best ones; what was deleted since it was found takes nobody's place."""
    there = list[Hit]()
    while hits and len(there) < limit:
        part, hits = hits[: limit - len(there)], hits[limit - len(there) :]
        there += places.there(part)
    return there
