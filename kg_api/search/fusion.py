"""Joining the scores of lanes, judging whether anything is near, and the least similarity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from kg_api.concepts.search import RRF_K
from kg_api.graph.fulltext import question_terms, terms
from kg_api.graph.spaces import Space
from kg_api.graph.text_analysis import fold, forms_of, stop_words_of
from kg_api.schemas.metadata import find_aliases
from kg_api.schemas.search import DescribedPlace, LeftOut
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import Fusion
from kg_api.search.plan import SearchPlan
from kg_api.search.question import SimilarityFilter
from kg_api.search.retrieve import PICTURES, VECTOR, Candidates, Hit, LaneContribution, Ranking

# Fusing the lists of several retrievers. Sources found through concepts are joined in rank.py.
#
# `adaptive` is kg's own; ADR 20 has the measurements. Both others are what the field uses: reciprocal rank
# fusion, and fixed weights over scores brought to one scale.

BEST = 50
"""So many of a lane's best tell its shape, however many were fetched."""
FULL_GAP = 0.53
"""At this share of the model's own gap the vectors' best hit weighs as much as a word lane's whose best score
is twice its mean. Measured on bge-small, checked on two other models (ADR 20)."""
MIN_GAP = 0.04
"""A model that tells even less apart was not asked in a language it knows: its gap says nothing."""
MAX_ADDED = BEST / math.sqrt(BEST - 1)
"""What the best hit of a lane adds at most: as much as the only passage with a word of the question."""
FEW = 5
"""A lane of fewer hits has no shape: unrelated texts stand for those that it lacks."""


@dataclass(frozen=True, slots=True)
class LaneScores:
    name: str
    ranked: Mapping[str, float]
    """Scores by id, the best first."""
    further: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of what only other lanes found, where the score is known all the same."""
    calibration: SimilarityCalibration | None = None
    """Only of vectors: what the model's cosines mean."""


class FusedScore(NamedTuple):
    """A fused score and what it is made of."""

    score: float
    parts: tuple[LaneContribution, ...]


def fuse(
    lanes: Sequence[LaneScores], how: Fusion = "adaptive", *, rrf_k: int = RRF_K, vector_weight: float = 0.7
) -> dict[str, FusedScore]:
    """Join lanes; one alone keeps its order and scores.

    Returns:
        By id, the best first; equal scores in the order of the ids, so that answers do not flicker.
    """
    parts: dict[str, list[LaneContribution]] = {}
    several = len(lanes) > 1
    for lane in lanes:
        best = list(islice(lane.ranked.values(), BEST))
        if several and how != "rrf" and not best:
            continue
        weight, least, span = 1.0, 0.0, 1.0
        if several and how == "adaptive":
            weight, least = _weigh_by_shape(lane, best)
        elif several and how == "weighted":  # min-max normalisation
            weight = 1 - vector_weight if lane.calibration is None else vector_weight
            least, span = best[-1], best[0] - best[-1]
        scored = [(*each, rank) for rank, each in enumerate(lane.ranked.items(), start=1)]
        if not (several and how == "rrf"):
            scored += [(*each, None) for each in lane.further.items() if each[0] not in lane.ranked]
        for identity, score, rank in scored:
            if several and how == "rrf":
                contribution = 1 / (rrf_k + (rank or 0))
            elif several and how == "weighted":
                place = min(max((score - least) / span, 0), 1) if span > 0 else float(score >= least)
                contribution = weight * place
            else:
                contribution = weight * (score - least)
            own = LaneContribution(lane.name, rank, score, weight, contribution)
            parts.setdefault(identity, []).append(own)
    fused = {
        identity: FusedScore(math.fsum(part.contribution for part in own), tuple(own))
        for identity, own in parts.items()
    }
    return fused if not several else dict(sorted(fused.items(), key=lambda each: (-each[1][0], each[0])))


def _weigh_by_shape(lane: LaneScores, best: Sequence[float]) -> tuple[float, float]:
    """Return the weight of a lane, which is as much as its best hits stand out, and the least that counts.

    Vectors: how far the best stands above the mean, in units of what the model's gap makes of it. A model
    asked in a language that it never learned finds everything equally near: the distance is small, and its
    square, which is what the best hit gets, is smaller still.
    Words: in units of the lane's mean, divided by the root of how far the best one stands above it. What few
    words found stands out: where fewer than 50 were found the rest count as 0. Many common words give
    everything about the same score, and so little weight.
    """
    if lane.calibration is not None:
        known = lane.calibration if lane.calibration.gap >= MIN_GAP else USUAL
        shape = [*best, *[min(known.unrelated, best[-1])] * (FEW - len(best))]
        weight = max(0.0, best[0] - math.fsum(shape) / len(shape)) / (FULL_GAP * known.gap) ** 2
        span = best[0] - shape[-1]
        return (min(weight, MAX_ADDED / span) if span > 0 else 0.0), shape[-1]
    mean = math.fsum(best) / BEST
    if mean <= 0:
        return 0.0, 0.0
    excess = max((best[0] - mean) / mean, 1e-9)
    least = best[-1] * (len(best) - 1) / (BEST - 1)  # the fewer were found, the more it says to be among them
    return 1 / (mean * math.sqrt(excess)), least


# Whether anything that was found is near the question, by what its model's cosines mean. Pure.

FEW_WORDS = 3
"""So many words besides stop words make a question a short one: their cosines lie elsewhere."""
MAX_TOLD = 100


USUAL_SHARES: Final = (0.8, 0.8)
SHARES: Final = {"bge-small-en-v1.5": (0.85, 0.9), "all-MiniLM-L6-v2": (0.75, 0.65)}
"""Where near begins, between the cosine of unrelated texts (0) and of related ones (1): for questions, and
for those of few words. By model, as measured: `python -m benchmarks.nothing_near` (ADR 29)."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """What is said of a whole answer."""

    near: bool | None = None
    """None: nobody can say."""
    note: str | None = None


UNKNOWN: Final = Nearness()


def nearness(plan: SearchPlan, candidates: Candidates, shown: Sequence[DescribedPlace]) -> Nearness:
    """Judge by the nearest passage of each space that was searched, and by the words of what is shown.

    Nobody can say without vectors, by a model that was not calibrated or hardly tells texts apart, or where
    hypothetical answers were searched by: they are nearer to passages than any question is. Nor where the
    best hit is a picture that was found by what it shows: how near is near was not measured there.
    """
    words = content_words(plan.text)
    if not plan.usable or plan.concepts_alone or any(each.hypothetical for each in plan.vectors):
        return UNKNOWN
    measured: list[tuple[float, float]] = []
    for space in plan.scope.models:
        lane = candidates.lanes.get(f"{VECTOR}{space.slug}", ()) if space.slug in plan.usable else ()
        nearest = max((hit.similarity for hit in lane if hit.similarity is not None), default=None)
        floor = floor_of(space, len(words))
        if nearest is not None and floor is not None:
            measured.append((nearest, floor))
    if any(nearest >= floor for nearest, floor in measured) or (measured and has_all(shown, words)):
        return Nearness(near=True)
    # A page before may have a passage with all words
    if len(measured) < len(plan.scope.models) or plan.page.given:
        return UNKNOWN
    seen = (lane for name, lane in candidates.lanes.items() if name.startswith(PICTURES))
    if shown and any(hit.source.source_id == shown[0].source_id for lane in seen for hit in lane):
        return UNKNOWN
    nearest, floor = max(measured, key=lambda each: each[0] - each[1])
    asked = f" {plan.text[:MAX_TOLD]!r}" if plan.text else " the vector"
    blind = " in its words; what pictures show is not judged" if plan.pictured else ""
    digits = 2 if f"{nearest:.2f}" != f"{floor:.2f}" else 4
    note = (
        f"nothing is near{asked}{blind}: the nearest passage has a similarity of {nearest:.{digits}f}, and "
        f"near begins at {floor:.{digits}f}; what was found is only the nearest there is"
    )
    return Nearness(near=False, note=note)


def content_words(text: str) -> frozenset[str]:
    """The words of a question that are no stop words, in lower case; all of them where there is no other."""
    words = frozenset(word.casefold() for word in question_terms(text))
    return words - stop_words_of(words) or words


def has_all(shown: Iterable[DescribedPlace], words: frozenset[str]) -> bool:
    """Whether one passage, with its headings, title, and aliases, has all of some words, in whatever form."""
    wanted = [forms_of(word) for word in words]
    begin = {form[:2] for forms in wanted for form in forms}
    for place in shown if words else ():
        said = terms(
            " ".join([place.full_text, *place.heading, place.title or "", *find_aliases(place.metadata)])
        )
        there = frozenset[str]().union(*(forms_of(word) for word in said if fold(word)[:2] in begin))
        if all(there & forms for forms in wanted):
            return True
    return False


def floor_of(space: Space, words: int) -> float | None:
    """The cosine from which on a passage is near a question of so many words; None where none is known."""
    calibration = space.calibration
    if calibration is None or calibration.gap < MIN_GAP:
        return None
    question, few_words = SHARES.get(space.identity.model, USUAL_SHARES)
    return calibration.toward_related(few_words if 0 < words <= FEW_WORDS else question)


# Leaving out what is not similar enough, before the best are taken: so no answer gets shorter. Pure.


def filter_of(plan: SearchPlan) -> BoundFilter:
    """The filter for the vectors that the question has."""
    blind = frozenset(vector.space.slug for vector in plan.vectors if vector.vector is None)
    return BoundFilter(plan.similar, blind, plan.scope.space_of)


def left_out(ranking: Ranking) -> LeftOut:
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
        if not self.similar.least:
            return Ranking(hits)
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

        They do not where a lane of vectors reaches below the least similarity: it is ordered by that. Nor
        where it was asked and is empty: nothing has a vector yet.
        """
        for slug in spaces:
            least, lane = self.similar.least.get(slug), candidates.lanes.get(f"{VECTOR}{slug}")
            if least is None:
                return True
            if slug in self.blind:
                hides = self.similar.keep_unmeasured
            elif lane:
                furthest = lane[-1].similarity
                hides = furthest is None or furthest >= least
            else:
                hides = lane is None
            if hides:
                return True
        return False
