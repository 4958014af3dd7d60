"""Whether anything that was found is near the question, by what its model's cosines mean. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.fulltext.queries import terms
from kg_api.graph.fulltext.spelling import fold
from kg_api.graph.fulltext.stems import forms_of
from kg_api.graph.fulltext.stopwords import stop_words_of
from kg_api.graph.spaces.registry import Space
from kg_api.models.library.metadata import find_aliases
from kg_api.models.queries.places import DescribedPlace
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.rank.fusion import MIN_GAP
from kg_api.search.retrieve.candidates import Candidates
from kg_api.search.retrieve.hits import PICTURES, VECTOR

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
