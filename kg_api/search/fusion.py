"""Joining the scores of lanes, judging whether anything is near, and the least similarity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from kg_api.concepts.search import RRF_K
from kg_api.graph.fulltext import terms
from kg_api.graph.search import LaneHit
from kg_api.graph.spaces import Space
from kg_api.graph.text_analysis import fold, forms_of, stop_words_of
from kg_api.schemas.metadata import find_aliases
from kg_api.schemas.search import DescribedPlace, LeftOut
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import Fusion
from kg_api.search.plan import SearchPlan
from kg_api.search.question import SimilarityFilter
from kg_api.search.retrieve import PICTURES, VECTOR, Candidates, Hit, LaneContribution, Ranking

# Fusing the lists of several lanes; what comes through concepts is joined in order.py. Pure.
#
# `adaptive` is kg's own; ADR 0020 has the measurements. Both others are what the field uses: reciprocal rank
# fusion, and fixed weights over scores brought to one scale.

BEST = 50
"""So many of a lane's best tell its shape, however many were fetched."""
FULL_GAP = 0.53
"""At this share of the model's own gap the vectors' best hit weighs as much as a word lane's whose best score
is twice its mean. Measured on bge-small, checked on two other models (ADR 0020)."""
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
    if len(lanes) == 1:
        return dict(_join([_parts(lanes[0], weight=1, least=0)]))
    match how:
        case "rrf":
            given = [_by_rank(lane, rrf_k) for lane in lanes]
        case "weighted":
            given = [_by_fixed_weight(lane, vector_weight) for lane in lanes]
        case "adaptive":
            given = [_by_shape(lane) for lane in lanes]
    return dict(sorted(_join(given), key=lambda item: (-item[1].score, item[0])))


Parts = dict[str, LaneContribution]


def _join(given: Sequence[Parts]) -> Iterator[tuple[str, FusedScore]]:
    for identity in dict.fromkeys(identity for parts in given for identity in parts):
        own = tuple(parts[identity] for parts in given if identity in parts)
        yield identity, FusedScore(math.fsum(part.contribution for part in own), own)


def _parts(lane: LaneScores, *, weight: float, least: float) -> Parts:
    """Weight times score, above the least that counts."""
    ranks = {identity: rank for rank, identity in enumerate(lane.ranked, start=1)}
    scores = {**lane.ranked, **{each: score for each, score in lane.further.items() if each not in ranks}}
    return {
        identity: LaneContribution(lane.name, ranks.get(identity), score, weight, weight * (score - least))
        for identity, score in scores.items()
    }


def _by_rank(lane: LaneScores, k: int) -> Parts:
    ranked = enumerate(lane.ranked.items(), start=1)
    return {
        identity: LaneContribution(lane.name, rank, score, 1, 1 / (k + rank))
        for rank, (identity, score) in ranked
    }


def _by_fixed_weight(lane: LaneScores, vector_weight: float) -> Parts:
    """Scores from 0 to 1 over the lane's best, times a share: min-max normalisation."""
    best = _best(lane)
    if not best:
        return {}
    span = best[0] - best[-1]
    share = 1 - vector_weight if lane.calibration is None else vector_weight
    given = _parts(lane, weight=share, least=best[-1]).items()
    return {
        identity: part._replace(contribution=share * _place(part.score, best[-1], span))
        for identity, part in given
    }


def _place(score: float, least: float, span: float) -> float:
    """Where a score lies between the least and the best, from 0 to 1."""
    return min(max((score - least) / span, 0), 1) if span > 0 else float(score >= least)


def _by_shape(lane: LaneScores) -> Parts:
    """A lane weighs as much as its best hits stand out from the rest of what it found."""
    best = _best(lane)
    if not best:
        return {}
    return (
        _words_by_shape(lane, best)
        if lane.calibration is None
        else _vectors_by_shape(lane, best, lane.calibration)
    )


def _vectors_by_shape(lane: LaneScores, best: Sequence[float], calibration: SimilarityCalibration) -> Parts:
    """Weight = how far the best stands above the mean, in units of what the model's gap makes of it.

    A model asked in a language that it never learned finds everything equally near: the distance is small,
    and its square, which is what the best hit gets, is smaller still.
    """
    known = calibration if calibration.gap >= MIN_GAP else USUAL
    shape = [*best, *[min(known.unrelated, best[-1])] * (FEW - len(best))]
    weight = max(0.0, best[0] - float(np.mean(shape))) / (FULL_GAP * known.gap) ** 2
    span = best[0] - shape[-1]
    return _parts(lane, weight=min(weight, MAX_ADDED / span) if span > 0 else 0, least=shape[-1])


def _words_by_shape(lane: LaneScores, best: Sequence[float]) -> Parts:
    """Scores in units of the lane's mean, divided by the root of how far the best one stands above it.

    What few words found stands out: where fewer than 50 were found the rest count as 0. Many common words
    give everything about the same score, and so little weight.
    """
    mean = math.fsum(best) / BEST
    if mean <= 0:
        return {}
    excess = max((best[0] - mean) / mean, 1e-9)
    least = best[-1] * (len(best) - 1) / (BEST - 1)  # the fewer were found, the more it says to be among them
    return _parts(lane, weight=1 / (mean * math.sqrt(excess)), least=least)


def _best(lane: LaneScores) -> list[float]:
    return list(lane.ranked.values())[:BEST]


# Whether anything that was found is near the question, by what its model's cosines mean. Pure.

FEW_WORDS = 3
"""So many words besides stop words make a question a short one: their cosines lie elsewhere."""
MAX_TOLD = 100


@dataclass(frozen=True, slots=True)
class Shares:
    """Where near begins, between the cosine of unrelated texts (0) and of related ones (1)."""

    question: float
    few_words: float


USUAL_SHARES: Final = Shares(0.8, 0.8)
SHARES: Final[Mapping[str, Shares]] = {
    "bge-small-en-v1.5": Shares(0.85, 0.9),
    "all-MiniLM-L6-v2": Shares(0.75, 0.65),
}
"""By model, as measured: `python -m benchmarks.nothing_near` (ADR 56)."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """What is said of a whole answer."""

    near: bool | None = None
    """None: nobody can say."""
    note: str | None = None


UNKNOWN: Final = Nearness()


@dataclass(frozen=True, slots=True)
class _Nearest:
    """The nearest passage of one space."""

    similarity: float
    floor: float

    @property
    def near(self) -> bool:
        return self.similarity >= self.floor


def nearness(plan: SearchPlan, candidates: Candidates, shown: Iterable[DescribedPlace]) -> Nearness:
    """Judge by the nearest passage of each space that was searched, and by the words of what is shown.

    Nobody can say without vectors, by a model that was not calibrated or hardly tells texts apart, or where
    hypothetical answers were searched by: they are nearer to passages than any question is. Nor where the
    best hit is a picture that was found by what it shows: how near is near was not measured there.
    """
    shown = list(shown)
    words = content_words(plan.text)
    if not plan.usable or plan.concepts_alone or any(each.hypothetical for each in plan.vectors):
        return UNKNOWN
    found = [_nearest(space, plan, candidates, words) for space in plan.scope.models]
    measured = [each for each in found if each is not None]
    if any(each.near for each in measured) or (measured and has_all(shown, words)):
        return Nearness(near=True)
    if len(measured) < len(found) or plan.page.given:  # a page before may have a passage with all words
        return UNKNOWN
    if shown and shown[0].source_id in _seen(candidates):
        return UNKNOWN
    return Nearness(near=False, note=_describe(plan, measured))


def content_words(text: str) -> frozenset[str]:
    """The words of a question that are no stop words, in lower case; all of them where there is no other."""
    words = frozenset(word.casefold() for word in terms(text))
    return words - stop_words_of(words) or words


def has_all(shown: Iterable[DescribedPlace], words: frozenset[str]) -> bool:
    """Whether one passage, with its headings, title, and aliases, has all of some words, in whatever form."""
    texts = (
        " ".join([place.full_text, *place.heading, place.title or "", *find_aliases(place.metadata)])
        for place in shown
    )
    wanted = [forms_of(word) for word in words]
    return bool(words) and any(_has_each(text, wanted) for text in texts)


def _has_each(text: str, wanted: Sequence[frozenset[str]]) -> bool:
    begin = {form[:2] for forms in wanted for form in forms}
    there = frozenset[str]().union(*(forms_of(word) for word in terms(text) if fold(word)[:2] in begin))
    return all(there & forms for forms in wanted)


def floor_of(space: Space, words: int) -> float | None:
    """The cosine from which on a passage is near a question of so many words; None where none is known."""
    calibration = space.calibration
    if calibration is None or calibration.gap < MIN_GAP:
        return None
    shares = SHARES.get(space.identity.model, USUAL_SHARES)
    share = shares.few_words if 0 < words <= FEW_WORDS else shares.question
    return calibration.toward_related(share)


def _nearest(
    space: Space, plan: SearchPlan, candidates: Candidates, words: frozenset[str]
) -> _Nearest | None:
    floor = floor_of(space, len(words))
    lane = candidates.lanes.get(f"{VECTOR}{space.slug}", ()) if space.slug in plan.usable else ()
    similarities = [each.similarity for each in lane if each.similarity is not None]
    return _Nearest(max(similarities), floor) if similarities and floor is not None else None


def _seen(candidates: Candidates) -> set[str]:
    """Ids of pictures that were found by what they show."""
    lanes = (lane for name, lane in candidates.lanes.items() if name.startswith(PICTURES))
    return {each.source.source_id for lane in lanes for each in lane}


def _describe(plan: SearchPlan, measured: Iterable[_Nearest]) -> str:
    best = max(measured, key=lambda each: each.similarity - each.floor)
    asked = f" {plan.text[:MAX_TOLD]!r}" if plan.text else " the vector"
    seen = " in its words; what pictures show is not judged" if plan.pictured else ""
    digits = 2 if f"{best.similarity:.2f}" != f"{best.floor:.2f}" else 4
    return (
        f"nothing is near{asked}{seen}: the nearest passage has a similarity of "
        f"{best.similarity:.{digits}f}, and near begins at {best.floor:.{digits}f}; "
        "what was found is only the nearest there is"
    )


# Leaving out what is not similar enough, before the best are taken: so no answer gets shorter. Pure.


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
