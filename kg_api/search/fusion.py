"""Fusion of scores from retrievers, relevance for the results, and the similarity threshold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from kg_api.concepts.search import RRF_K
from kg_api.graph.fulltext import list_terms, split_question_terms
from kg_api.graph.spaces import Space
from kg_api.graph.spellings import JOINED, Variant, find_dates, list_amounts, write_amounts
from kg_api.graph.text_analysis import (
    detect_language,
    find_hidden_parts,
    find_stop_words,
    fold,
    get_word_forms,
    load_stop_words,
)
from kg_api.normal_form import normalise_text
from kg_api.providers.embedding_port import advise_on_languages, knows_language
from kg_api.schemas.metadata import find_aliases
from kg_api.schemas.search import LeftOut, Respelling, SourceHit
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import Fusion
from kg_api.search.plan import SearchPlan
from kg_api.search.question import SimilarityFilter
from kg_api.search.retrieve import PICTURES, VECTOR, Candidates, Hit, LaneContribution, Ranking

# Fusion of several retrievers (rank.py merges concept hits)
#
# `adaptive` is specific to kg, and ADR 20 contains the measurements. The other methods are common: reciprocal
# rank fusion, and fixed weights over normalized scores.

BEST = 50
"""Number of results to use for the weight of a retriever. It does not depend on the search depth."""
FULL_GAP = 0.53
"""Distance of a vector hit from the mean that equals a full-text hit with twice the mean score.

The unit is the model's gap. Measured on bge-small and checked on two other models (ADR 20).
"""
MIN_GAP = 0.04
"""Minimum gap that can be used. If it is smaller, the model does not know the language."""
MAX_ADDED = BEST / math.sqrt(BEST - 1)
"""Maximum that the best hit from a retriever can add, the same as for the only passage with a keyword."""
MAX_WEIGHT = 2.0
"""Maximum weight of full text. Below, a rare keyword in a small collection would count less than a vector."""
FEW = 5
"""Minimum number of hits that a vector retriever needs. If there are fewer, unrelated texts are used."""


@dataclass(frozen=True, slots=True)
class LaneScores:
    name: str
    ranked: Mapping[str, float]  # scores by id, best first
    further: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores that are known for hits from other retrievers only."""
    calibration: SimilarityCalibration | None = None  # for vectors only


class FusedScore(NamedTuple):
    """Fused score, and how much each retriever has added."""

    score: float
    parts: tuple[LaneContribution, ...]


def fuse(
    lanes: Sequence[LaneScores], how: Fusion = "adaptive", *, rrf_k: int = RRF_K, vector_weight: float = 0.7
) -> dict[str, FusedScore]:
    """Fuse scores from several retrievers. If there is only one, this does not change order and scores.

    Returns:
        Scores by id, best first. Equal scores are ordered by id, so that the order is stable.
    """
    scores: dict[str, float] = {}
    parts: dict[str, list[LaneContribution]] = {}
    way = how if len(lanes) > 1 else "alone"
    for lane in lanes:
        best = list(islice(lane.ranked.values(), BEST))
        if not best and way in {"adaptive", "weighted"}:
            continue
        weight, least, span = 1.0, 0.0, 1.0
        if way == "adaptive":
            weight, least = _weigh_by_shape(lane, best)
        elif way == "weighted":
            weight = 1 - vector_weight if lane.calibration is None else vector_weight
            least, span = best[-1], best[0] - best[-1]
        scored = [(*each, rank) for rank, each in enumerate(lane.ranked.items(), start=1)]
        if way != "rrf":
            scored += [(*each, None) for each in lane.further.items() if each[0] not in lane.ranked]
        for identity, score, rank in scored:
            if way == "rrf" and rank is not None:
                contribution = 1 / (rrf_k + rank)
            elif way == "weighted":
                place = min(max((score - least) / span, 0), 1) if span > 0 else float(score >= least)
                contribution = weight * place
            else:
                contribution = weight * (score - least)
            scores[identity] = scores.get(identity, 0.0) + contribution
            own = LaneContribution(lane.name, rank, score, weight, contribution)
            parts.setdefault(identity, []).append(own)
    order = list(scores)
    if way != "alone":
        order.sort()
        order.sort(key=scores.__getitem__, reverse=True)  # keeps the order of equal scores
    return {identity: FusedScore(scores[identity], tuple(parts[identity])) for identity in order}


def _weigh_by_shape(lane: LaneScores, best: Sequence[float]) -> tuple[float, float]:
    """Return the weight of a retriever, based on how far its best hit stands out, and its score baseline.

    Vectors: the weight is the distance of the best hit from the mean, scaled by the model's gap. In a
    language that the model does not know, everything is equally near. The distance is then small, and the
    best hit gets its square.

    Full text: the weight is 1 / (mean * root of the best hit's relative excess over the mean). If fewer than
    50 hits exist, the rest count as 0, so rare keywords get a high weight. Common keywords lead to similar
    scores and a low weight. A hit adds at most twice its BM25 score. Otherwise, a stop word or a correction,
    which has half weight in the query, would count fully if it is the only match.
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
    least = best[-1] * (len(best) - 1) / (BEST - 1)  # a hit in a shorter list says more
    return min(MAX_WEIGHT, 1 / (mean * math.sqrt(excess))), least


# Relevance: whether any result is near the question

FEW_WORDS = 3
"""Maximum number of content words in a short question. These have cosines in a different range."""
MARGIN = 0.01
"""Distance below the cosine where relevance starts that can be an error in the calibration."""
HALF = 0.5  # share of the content words that makes the first hit relevant
UNKNOWN_LANGUAGE = 0.3
"""Share that it needs in a language that the model does not know, as compounds differ more."""
READ_HITS, READ_CHARACTERS = 3, 300  # start of the first hits, to recognize the language of the texts
MIN_OWN_SHARE = 0.2  # share of stop words that shows the language of the question in the hits
MAX_TOLD = 100
KNOWN_TEXTS = 256  # first hits to cache, which may be long

USUAL_SHARES: Final = (0.8, 0.8)
SHARES: Final = {"bge-small-en-v1.5": (0.88, 0.95), "all-MiniLM-L6-v2": (0.75, 0.65)}
"""Cosine at which relevance starts, for normal and for short questions, by model.

0 is the cosine of unrelated texts, 1 that of related texts. Measured with `python -m benchmarks.nothing_near`
(ADR 29).
"""


@dataclass(frozen=True, slots=True)
class Nearness:
    """Relevance for a whole response."""

    near: bool | None = None  # None: unknown
    note: str | None = None


UNKNOWN: Final = Nearness()


def judge_nearness(plan: SearchPlan, candidates: Candidates, shown: Sequence[SourceHit]) -> Nearness:
    """Judge the relevance, using the keywords in the first hit and the nearest passage in each space.

    The first hit is relevant if it has half of the content words, and two if there are several. Otherwise,
    the cosine decides. In a language that a model does not know, all passages are near. The first hit then
    needs 0.3 of the words, or one if vectors and keywords rank it first. If a few keywords do not show their
    language, use that of the texts. If the first hits are in a language that a model does not know, the note
    says so.

    The relevance is unknown without vectors, or if the model has no calibration or a small gap. It is also
    unknown with hypothetical answers, which are nearer to passages than any question. For an image as the
    best hit, no measurements exist.
    """
    words = find_content_words(plan.text)
    if not plan.usable or plan.concepts_alone or any(each.hypothetical for each in plan.vectors):
        return UNKNOWN
    language, models = plan.wording.language, [each.space.identity.model for each in plan.usable.values()]
    measured = [*_measure(plan, candidates, len(words))]
    close = any(nearest >= floor - MARGIN for nearest, floor in measured)
    # The cosine decides most searches. To count words takes longer than the fusion
    decided = close and language is not None and all(knows_language(model, language) for model in models)

    def count(content: Iterable[str]) -> int:
        respelt, variants = plan.notes.respelt, plan.wording.variants
        return count_words(shown[0], content, respelt, variants) if shown and not decided else 0

    matched = count(words)
    enough = has_enough(matched, words)
    read = language
    if language is None and words and not enough:
        read = _detect_language(shown, language)
        # A few keywords do not show their language: `vom` counts unless the texts are German
        if read and (content := words - find_stop_words(words, (read,))) and content != words:
            words = content
            matched = count(words)
            enough = has_enough(matched, words)
    foreign = [model for model in models if read is not None and not knows_language(model, read)]
    note = _note_languages(models, language, shown) if language else None
    agreed = bool(matched) and (shown[0].ranks.vector == shown[0].ranks.text == 1)
    if decided or enough or (foreign and (agreed or matched >= UNKNOWN_LANGUAGE * len(words))):
        return Nearness(near=True, note=note)
    if foreign:
        found = f"only {matched} of {len(words)} keywords" if matched else "none of the keywords"
        reason = f"the first hit has {found}"
    else:
        if close:
            return Nearness(near=True, note=note)
        if len(measured) < len(plan.scope.models):
            return Nearness(note=note)
        nearest, floor = max(measured, key=lambda each: each[0] - each[1])
        reason = (
            f"the nearest passage has a similarity of {nearest:.2f}, and close matches start at {floor:.2f}"
        )
    seen = (lane for name, lane in candidates.lanes.items() if name.startswith(PICTURES))
    # A previous page may contain a passage with the keywords
    if plan.page.given or (
        shown and any(hit.source.source_id == shown[0].source_id for lane in seen for hit in lane)
    ):
        return Nearness(note=note)
    query = f" {plan.text[:MAX_TOLD]!r}" if plan.text else " the vector"
    blind = " in its text. The content of images is not checked" if plan.pictured else ""
    reason += f", and {note}" if note else ""
    return Nearness(near=False, note=f"no close match for{query}{blind}: {reason}")


def _note_languages(models: Sequence[str], question: str, shown: Sequence[SourceHit]) -> str | None:
    """Describe a language of the question or of the first hits that a model does not know."""
    if unread := next((model for model in models if not knows_language(model, question)), None):
        return f"the question is {question.capitalize()}; {advise_on_languages(unread)}"
    texts = _detect_language(shown, question) or question
    if unread := next((model for model in models if not knows_language(model, texts)), None):
        both = f"the question is {question.capitalize()}, and the first hits are {texts.capitalize()}"
        return f"{both}; {advise_on_languages(unread)}"
    return None


def _detect_language(shown: Sequence[SourceHit], question: str | None) -> str | None:
    """Detect the language of the first hits. The stop words of the question's language suffice for it."""
    texts = "\n".join(each.full_text[:READ_CHARACTERS] for each in shown[:READ_HITS])
    words = texts.lower().split()
    listed = load_stop_words().get(question or "", frozenset())
    if sum(word in listed for word in words) > MIN_OWN_SHARE * len(words):
        return question
    return _detect_text_language(texts)


_detect_text_language = lru_cache(KNOWN_TEXTS)(detect_language)


def _measure(plan: SearchPlan, candidates: Candidates, words: int) -> Iterator[tuple[float, float]]:
    """Yield for each calibrated space the nearest cosine, and the cosine where relevance starts."""
    for space in plan.scope.models:
        lane = candidates.lanes.get(f"{VECTOR}{space.slug}", ()) if space.slug in plan.usable else ()
        nearest = max((hit.similarity for hit in lane if hit.similarity is not None), default=None)
        floor = get_relevance_floor(space, words)
        if nearest is not None and floor is not None:
            yield nearest, floor


def find_content_words(text: str) -> frozenset[str]:
    """Find the words in a question that are not stop words. If there are none, use all words.

    An amount or a date is one word, although the full-text index splits it.
    """
    words = frozenset(word.casefold() for word in split_question_terms(write_amounts(text)))
    return words - find_stop_words(words) or words


def count_words(
    hit: SourceHit, words: Iterable[str], respelt: Iterable[Respelling] = (), variants: Sequence[Variant] = ()
) -> int:
    """Count the words that a passage has, also in headings, title, document name, and aliases.

    Words match in any form, as corrected, and as the question's other spellings: `HX7730912` as `HX-7730912`.
    """
    meant = {each.word: each.meant for each in respelt}
    longest = max(hit.full_text, hit.chunk.text, key=len)  # a chunk may contain several paragraphs
    texts = "\n".join([longest, *hit.heading, hit.title or "", hit.document, *find_aliases(hit.metadata)])
    spellings = frozenset(
        (word, *meant.get(word, ()), *(each.words.casefold() for each in variants if _is_for(each, word)))
        for word in words
    )
    return _count_words(texts, spellings)


def _is_for(variant: Variant, word: str) -> bool:
    """Check if a variant is the word with a space, or joins the word and its neighbor."""
    spelling = variant.words.casefold()
    if variant.weight == JOINED:
        return spelling.startswith(word) or spelling.endswith(word)
    return spelling.replace(" ", "") == word


@lru_cache(KNOWN_TEXTS)
def _count_words(text: str, spellings: frozenset[tuple[str, ...]]) -> int:
    """Count the words that a text has. The cache saves 0.4 ms for a repeated search."""
    wanted = [frozenset[str]().union(*map(get_word_forms, each)) for each in spellings]
    begin = {form[:2] for forms in wanted for form in forms}
    dates = [f"{each}" for each in find_dates(text)] if any(map(_may_be_date, chain(*spellings))) else []
    months = [each[:6] for each in dates]
    everything = "\n".join([text, *list_amounts(text), *dates, *months, *find_hidden_parts([text])])
    text_words = (word for word in list_terms(everything) if fold(word)[:2] in begin)
    there = frozenset[str]().union(*map(get_word_forms, text_words))
    return sum(
        not there.isdisjoint(forms) or any(_has_phrase(text, each) for each in spelling if " " in each)
        for spelling, forms in zip(spellings, wanted, strict=True)
    )


def _may_be_date(word: str) -> bool:
    return word.isdecimal() and len(word) in {6, 8}


def _has_phrase(text: str, phrase: str) -> bool:
    pattern = r"[\W_]?".join(map(re.escape, phrase.split()))
    return re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", normalise_text(text), re.IGNORECASE) is not None


def has_enough(matched: int, words: Sized) -> bool:
    """Check if this number of the words makes a hit relevant: half of them, and two if there are several."""
    return matched > 0 and matched >= max(min(2, len(words)), HALF * len(words))


def get_relevance_floor(space: Space, words: int) -> float | None:
    """Get the cosine where relevance starts for a question with this length. None: unknown."""
    calibration = space.calibration
    if calibration is None or calibration.gap < MIN_GAP:
        return None
    question, few_words = SHARES.get(space.identity.model, USUAL_SHARES)
    return calibration.interpolate_to_related(few_words if 0 < words <= FEW_WORDS else question)


# Similarity filter, applied before the page limit so that pages stay full


def build_vector_filter(plan: SearchPlan) -> BoundFilter:
    blind = frozenset(vector.space.slug for vector in plan.vectors if vector.vector is None)
    return BoundFilter(plan.similar, blind, plan.scope.get_space)


def count_left_out(ranking: Ranking) -> LeftOut:
    measured = [similarity for hit in ranking.lost if (similarity := hit.found.similarity) is not None]
    return LeftOut(
        below_similarity=len(measured),
        without_vector=len(ranking.lost) - len(measured),
        nearest=max(measured, default=None),
    )


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """Similarity filter to use for the vectors of a question."""

    similar: SimilarityFilter
    blind: frozenset[str]  # spaces without a vector
    space_of: Callable[[str], str]  # space slug by ontology

    def keeps(self, hit: Hit) -> bool:
        """Check if a hit can be used with this threshold."""
        slug, similarity = self.space_of(hit.found.source.ontology), hit.found.similarity
        least = self.similar.least.get(slug)
        if least is None:
            return True
        if slug in self.blind:
            return self.similar.keep_unmeasured
        return similarity is not None and similarity >= least

    def keep_strictly(self, hits: Iterable[Hit]) -> list[Hit]:
        """List the hits that reach the threshold, in order."""
        return [hit for hit in hits if self.keeps(hit)]

    def apply(self, hits: Sequence[Hit]) -> Ranking:
        """Divide hits into those to keep and those to drop, in order."""
        if not self.similar.least:
            return Ranking(hits)
        beside = self.similar.keep_carried and any(self.keeps(hit) for hit in hits)
        return self.divide(hits, beside=beside)

    def divide(self, hits: Iterable[Hit], *, beside: bool) -> Ranking:
        """Keep hits that reach the threshold. To keep hits from concepts, use `beside`."""
        kept, lost = list[Hit](), list[Hit]()
        for hit in hits:
            (kept if self.keeps(hit) or (beside and hit.found.through) else lost).append(hit)
        return Ranking(kept, lost)

    def may_hide(self, candidates: Candidates, spaces: Iterable[str]) -> bool:
        """Check if more hits can be found above the threshold when you go deeper.

        It cannot if a vector retriever already passed the threshold, because its results are ordered. It also
        cannot if a vector retriever is empty, because no source has a vector yet.
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
