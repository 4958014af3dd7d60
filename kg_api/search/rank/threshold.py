"""Leaving out what is not similar enough, before the best are taken: so no answer gets shorter. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kg_api.graph.search.passages import LaneHit
from kg_api.models.queries.search import LeftOut
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.plan.similarity import SimilarityFilter
from kg_api.search.retrieve.candidates import Candidates, Ranking
from kg_api.search.retrieve.hits import VECTOR, Hit


def filter_of(plan: SearchPlan) -> BoundFilter:
    """The filter for the vectors that the question has."""
    blind = frozenset(vector.space.slug for vector in plan.vectors if vector.vector is None)
    return BoundFilter(plan.similar, blind, plan.scope.space_of)


def left_out(ranking: Ranking) -> LeftOut:
    """What is said of those that were not similar enough."""
    measured = [similarity for hit in ranking.lost if (similarity := hit.found.similarity) is not None]
    return LeftOut(
        below_similarity=len(measured),
        without_vector=len(ranking.lost) - len(measured),
        nearest=max(measured, default=None),
    )


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter, for the vectors of one question."""

    similar: SimilarityFilter
    blind: frozenset[str]
    """The spaces in which it has none."""
    space_of: Callable[[str], str]
    """The space that an ontology answers by."""

    def passes(self, hit: Hit) -> bool:
        """Whether a hit is similar enough by itself."""
        slug, similarity = self.space_of(hit.found.source.ontology), hit.found.similarity
        least = self.similar.least.get(slug)
        if least is None:
            return True
        if slug in self.blind:
            return self.similar.keep_unmeasured
        return similarity is not None and similarity >= least

    def strict(self, hits: Iterable[Hit]) -> list[Hit]:
        """The hits that are similar enough by themselves, in their order."""
        return [hit for hit in hits if self.passes(hit)]

    def apply(self, hits: Sequence[Hit]) -> Ranking:
        """The hits that are to be kept, in their order."""
        beside = self.similar.keep_carried and any(self.passes(hit) for hit in hits)
        return self.divide(hits, beside=beside)

    def divide(self, hits: Iterable[Hit], *, beside: bool) -> Ranking:
        """Those that are similar enough, or that concepts brought `beside` such as are; and the others."""
        kept, lost = list[Hit](), list[Hit]()
        for hit in hits:
            (kept if self.passes(hit) or (beside and hit.found.through) else lost).append(hit)
        return Ranking(kept, lost)

    def may_hide(self, candidates: Candidates, spaces: Iterable[str]) -> bool:
        """Whether deeper lanes may hold more that is similar enough.

        They do not where a lane of vectors reaches below the least similarity: it is ordered by that.
        """
        return any(self._may_hide(slug, candidates.lanes.get(f"{VECTOR}{slug}")) for slug in spaces)

    def _may_hide(self, slug: str, lane: Sequence[LaneHit] | None) -> bool:
        least = self.similar.least.get(slug)
        if least is None:
            return True
        if slug in self.blind:
            return self.similar.keep_unmeasured
        if not lane:
            return lane is None  # an empty one was asked: nothing has a vector yet
        furthest = lane[-1].similarity
        return furthest is None or furthest >= least
