"""Ranking: fusion, reranking, near-duplicates, diversity, and pages."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import regex
from numpy.typing import NDArray

from kg_api.concepts.search import RRF_K
from kg_api.errors import RerankUnavailable
from kg_api.graph.client import Graph
from kg_api.graph.search import MAX_CHUNKS, LaneHit, read_chunk_texts, read_hit_vectors
from kg_api.graph.similar import describe_places
from kg_api.providers.rerank import Reranker, blend_scores
from kg_api.schemas.search import Degradation, DescribedPlace, SourceSearch
from kg_api.schemas.spaces import USUAL
from kg_api.search.fusion import LaneScores, build_vector_filter, fuse
from kg_api.search.plan import SearchPlan
from kg_api.search.retrieve import (
    CONCEPTS,
    PICTURES,
    TEXT,
    VECTOR,
    Candidates,
    Hit,
    LaneContribution,
    Ranking,
    find_needed_texts,
    get_hit_key,
    scale_below,
    to_matched_chunk,
)
from kg_api.suggestions import UNSPACED

# Near-duplicate texts
#
# Near-duplicates are compared by phrases, not by vectors. Paragraphs from one template with different names
# and numbers are as similar as copies (bge cosine: 0.80 to 0.98 for templates, 0.87 to 1 for copies) but
# share fewer phrases.

MIN_OVERLAP = 0.85
"""Minimum Jaccard index for the phrases. On five corpora, texts from one template have up to 0.80."""
PHRASE_WORDS = 3

_WORD = regex.compile(rf"[{UNSPACED}]\p{{M}}*|[\p{{L}}\p{{N}}\p{{M}}--[{UNSPACED}]]+", regex.VERSION1)

Phrase = tuple[str, ...]


def group_near_duplicates(texts: Sequence[str]) -> list[list[int]]:
    """Group texts that are nearly the same. Case, punctuation, and layout do not count.

    A text joins the first group whose leader it resembles, so the best hit represents its group.

    Args:
        texts: Best first.

    Returns:
        Groups of ascending indexes, in the order of their first member. A unique text forms its own group.
    """
    return group_alike([list_trigrams(text) for text in texts])


def group_alike(texts: Sequence[frozenset[Phrase]]) -> list[list[int]]:
    """Group texts by the phrases that they have in common.

    Prefix filtering avoids a comparison of all pairs (Chaudhuri, Ganti, Kaushik, ICDE 2006): sets with enough
    common phrases share one of their first phrases in any common order. Rarest phrases first leaves few
    candidates even for texts from one template.
    """
    common = Counter(phrase for phrases in texts for phrase in phrases)
    leaders = defaultdict[Phrase, list[int]](list)
    groups: dict[int, list[int]] = {}
    for index, own in enumerate(texts):
        needed = max(1, math.ceil(MIN_OVERLAP * len(own) - 1e-9))
        rarest = sorted(own, key=lambda phrase: (common[phrase], phrase))[: len(own) - needed + 1]
        for leader in sorted({each for phrase in rarest for each in leaders.get(phrase, ())}):
            both = len(own & texts[leader])
            if both >= MIN_OVERLAP * (len(own) + len(texts[leader]) - both):
                groups[leader].append(index)
                break
        else:
            groups[index] = [index]
            for phrase in rarest:
                leaders[phrase].append(index)
    return list(groups.values())


def overlap(one: str, other: str) -> float:
    """Compute the Jaccard index for the phrases in two texts, from 0 to 1."""
    a, b = list_trigrams(one), list_trigrams(other)
    return len(a & b) / len(a | b)


def list_trigrams(text: str) -> frozenset[Phrase]:
    """List all triples of words in a text.

    A text with fewer than three words returns its words, and a text without words returns itself.
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if len(words) < PHRASE_WORDS:
        return frozenset({tuple(words) or (text.strip(),)})
    return frozenset(zip(*(words[at:] for at in range(PHRASE_WORDS)), strict=False))


# Source texts of a search


class PlaceReader:
    """Cache for source texts, to be used in a search.

    Retrievers return only ids and scores, because few hits are shown.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, DescribedPlace] = {}
        self._phrases: dict[str, frozenset[Phrase]] = {}
        self._alike: dict[tuple[str, ...], list[list[int]]] = {}

    def read(self, source_ids: Iterable[str]) -> Mapping[str, DescribedPlace]:
        """Read sources by id, using the cache. Deleted sources are missing."""
        unknown = [each for each in dict.fromkeys(source_ids) if each not in self._known]
        if unknown:
            self._known.update((place.source_id, place) for place in describe_places(self._graph, unknown))
        return self._known

    def __getitem__(self, source_id: str) -> DescribedPlace:
        return self._known[source_id]

    def keep_existing(self, hits: Iterable[Hit]) -> list[Hit]:
        """Read the sources for hits. If a source was deleted after retrieval, the hit is dropped."""
        hits = list(hits)
        known = self.read(hit.found.source.source_id for hit in hits)
        return [hit for hit in hits if hit.found.source.source_id in known]

    def group_alike(self, source_ids: Sequence[str]) -> list[list[int]]:
        """Group sources that are nearly the same.

        The result is cached, because deeper retrievals repeat the comparison.
        """
        asked = tuple(source_ids)
        if asked not in self._alike:
            for each in asked:
                if each not in self._phrases:
                    self._phrases[each] = list_trigrams(self._known[each].full_text)
            self._alike[asked] = group_alike([self._phrases[each] for each in asked])
        return self._alike[asked]


# Deduplication and diversity

T = TypeVar("T")
MAX_COMPARED = 500
"""Number of hits to compare for copies: five times the largest page."""


def drop_near_duplicates(hits: Sequence[Hit], request: SourceSearch, places: PlaceReader) -> list[Hit]:
    """Collapse hits that are nearly the same, and use the limit for each document."""
    if request.collapse_duplicates:
        hits = drop_duplicates(hits[:MAX_COMPARED], places)
    if request.per_document is not None:
        hits = limit_per_group(hits, lambda hit: hit.found.source.document_id, request.per_document)
    return list(hits)


def extend_page(
    kept: Sequence[Hit], hits: Sequence[Hit], request: SourceSearch, places: PlaceReader
) -> list[Hit]:
    """Append hits from a deeper retrieval to `kept`, if they are new and within the limits."""
    known = {hit.identity for hit in kept}
    new = [hit for hit in hits if hit.identity not in known]
    if request.collapse_duplicates and new:
        new = [hit for hit in drop_duplicates([*kept, *new], places) if hit.identity not in known]
    every = [*kept, *new]
    if request.per_document is None:
        return every
    return limit_per_group(every, lambda hit: hit.found.source.document_id, request.per_document)


def drop_duplicates(hits: Sequence[Hit], places: PlaceReader) -> list[Hit]:
    """Keep the first source in each group of copies, with the ids for the others.

    All chunks of a kept source remain. Deleted sources are dropped.
    """
    hits = places.keep_existing(hits)
    known = {hit.found.source.source_id: hit.duplicates for hit in hits}
    sources = list(known)
    copies = {  # include the copies of each copy
        sources[first]: [each for at in others for each in (sources[at], *known[sources[at]])]
        for first, *others in places.group_alike(sources)
    }
    return [
        hit._replace(duplicates=tuple(dict.fromkeys((*hit.duplicates, *copies[source_id]))))
        for hit in hits
        if (source_id := hit.found.source.source_id) in copies
    ]


def limit_per_group(items: Iterable[T], group_of: Callable[[T], Hashable], most: int) -> list[T]:
    """Keep up to `most` items for each group, in order."""
    seen = Counter[Hashable]()
    kept: list[T] = []
    for item in items:
        seen[group_of(item)] += 1
        if seen[group_of(item)] <= most:
            kept.append(item)
    return kept


def compute_similarities(
    vectors: Sequence[NDArray[np.float32] | None], spaces: Sequence[str | None]
) -> NDArray[np.float64]:
    """Compute the cosine for each pair, shape (n, n). If it cannot be compared, use 0."""
    count = len(vectors)
    near = np.zeros((count, count))
    for space in {each for each in spaces if each is not None}:
        own = [at for at in range(count) if spaces[at] == space and vectors[at] is not None]
        if own:
            rows = np.array([vectors[at] for at in own], dtype=np.float64)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            near[np.ix_(own, own)] = rows @ rows.T
    return near


def order_by_marginal_relevance(
    scores: Sequence[float], near: NDArray[np.float64], weight: float, limit: int
) -> list[tuple[int, float]]:
    """Order hits by maximal marginal relevance, to get hits that are relevant and different from each other.

    The value is weight * relevance - (1 - weight) * greatest similarity to a chosen hit (Carbonell,
    Goldstein, SIGIR 1998). Relevance is the score scaled to 0 to 1, so that both terms share a scale.

    Returns:
        Up to `limit` pairs of the index in `scores` and the value.
    """
    relevance = _to_unit(np.asarray(scores, dtype=np.float64))
    closest = np.zeros(len(scores))
    chosen: list[tuple[int, float]] = []
    left = list(range(len(scores)))
    while left and len(chosen) < limit:
        values = weight * relevance[left] - (1 - weight) * closest[left]
        best = left[int(np.argmax(values))]  # the first of equal values
        chosen.append((best, float(values.max())))
        closest = np.maximum(closest, near[best])
        left.remove(best)
    return chosen


def _to_unit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (scores.min(), scores.max()) if scores.size else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


# Pages
#
# Results of the first retrieval come first, followed by new results of each deeper one. The order is
# therefore independent of the depth.


def is_short(plan: SearchPlan, hits: Sequence[Hit]) -> bool:
    """Check if a page is not complete. The first page is not checked."""
    return bool(plan.page.given) and len(_list_left(plan, hits)) < plan.request.limit


def can_go_deeper(plan: SearchPlan, candidates: Candidates) -> bool:
    """Check if it is possible to go deeper and find more."""
    return plan.depth < MAX_CHUNKS and _may_have_more(plan, candidates)


def _may_have_more(plan: SearchPlan, candidates: Candidates) -> bool:
    """Check if a retriever can have more hits.

    A vector retriever that passed the similarity threshold has none.
    """
    hidden = not plan.similar.least or build_vector_filter(plan).may_hide(candidates, plan.scope.slugs)
    return candidates.cut and hidden


def take_page(
    plan: SearchPlan, candidates: Candidates, ranking: Ranking, found: int, places: PlaceReader
) -> Ranking:
    """Take the hits for the page. Check if more may follow.

    `found` is the number of hits before deduplication.
    """
    limit, left = plan.request.limit, _list_left(plan, ranking.hits)
    shown, at = list[Hit](), 0
    with plan.watch.stage("tell"):
        while at < len(left) and len(shown) < limit:  # replace hits whose source was deleted
            part = left[at : at + limit - len(shown)]
            shown += places.keep_existing(part)
            at += len(part)
    # Hits beyond the comparison limit remain for further pages
    uncompared = (
        plan.request.collapse_duplicates and found > MAX_COMPARED and not is_short(plan, ranking.hits)
    )
    more = len(left) > limit or uncompared or can_go_deeper(plan, candidates)
    if plan.page.given and not more and _may_have_more(plan, candidates):
        effect = f"a search reads only the first {MAX_CHUNKS:,} hits of each retriever, so there may be more"
        plan.notes.record("page", [Degradation(part="query", effect=effect)])
    return replace(ranking, hits=shown, more=more)


def _list_left(plan: SearchPlan, hits: Sequence[Hit]) -> Sequence[Hit]:
    """List hits that were not on pages before."""
    return [hit for hit in hits if not plan.page.has_returned(hit.identity)] if plan.page.given else hits


# Fusion and similarity filter


def order(plan: SearchPlan, candidates: Candidates) -> Ranking:
    """Fuse the results. If a hit is below the similarity threshold, it is dropped."""
    hits = fuse_lanes(plan, candidates) if candidates.fused is None else candidates.fused
    further = {name: lane for name, lane in candidates.lanes.items() if name.startswith(PICTURES)}
    if candidates.fused is not None and not plan.request.graph:  # graph: `fill_from_graph` adds them
        further[CONCEPTS] = candidates.carried
    return build_vector_filter(plan).apply(join_further(hits, further) if further else hits)


def needs_more(plan: SearchPlan, candidates: Candidates, ranking: Ranking, places: PlaceReader) -> bool:
    """Check if you have to go deeper, because there are not enough hits without copies."""
    request = plan.request
    leaves_out = request.per_document is not None or request.collapse_duplicates or plan.similar.least
    if not (leaves_out and can_go_deeper(plan, candidates)):
        return False
    with plan.watch.stage("thin_out"):
        return len(drop_near_duplicates(ranking.hits, request, places)) < request.limit


def fuse_lanes(plan: SearchPlan, candidates: Candidates) -> list[Hit]:
    """Fuse the results from all retrievers.

    Unless hits are grouped by chunk, keep only the best child of a parent.
    """
    request, group_by = plan.request, plan.request.group_by
    with plan.watch.stage("fuse"):
        words = {found.source.source_id: found for found in candidates.lanes.get(TEXT, ())}
        found: dict[str, LaneHit] = {}
        lanes: list[LaneScores] = []
        for name, lane in candidates.lanes.items():
            if name.startswith(PICTURES):
                continue
            by_vector, own = name.startswith(VECTOR), dict[str, LaneHit]()
            for each in lane:
                pointed = _point_to_source(each, words) if by_vector else each
                own.setdefault(get_hit_key(pointed, group_by), pointed)
            found = {**own, **found}  # prefer the first retrievers: vector retrievers know the chunk
            scores = {identity: each.score for identity, each in own.items()}
            if not by_vector:
                lanes.append(LaneScores(name, scores))
                continue
            slug = name.removeprefix(VECTOR)
            further = {
                get_hit_key(each, group_by): each.similarity
                for each in words.values()
                if each.similarity is not None and plan.scope.get_space(each.source.ontology) == slug
            }
            calibration = plan.scope.calibrations.get(slug) or USUAL
            lanes.append(LaneScores(name, scores, further, calibration))
        joined = fuse(lanes, request.fusion, rrf_k=request.rrf_k, vector_weight=request.vector_weight)
        hits = [
            Hit(found[identity], identity, each.score, each.parts, fused_rank=rank, fused_score=each.score)
            for rank, (identity, each) in enumerate(joined.items(), 1)
        ]
        if group_by == "chunk" or not any(hit.found.chunk and hit.found.chunk.parent_id for hit in hits):
            return hits
        return limit_per_group(
            hits, lambda hit: (hit.found.chunk and hit.found.chunk.parent_id) or hit.identity, 1
        )


def _point_to_source(each: LaneHit, words: Mapping[str, LaneHit]) -> LaneHit:
    """Assign a chunk that has several sources to the source that should be shown, using the keywords."""
    if each.chunk is None or len(each.chunk.covers) == 1:
        return each
    there = [words[identity] for identity in each.chunk.covers if identity in words]
    return each._replace(source=max(there, key=lambda found: found.score).source) if there else each


def join_further(hits: Sequence[Hit], further: Mapping[str, Sequence[LaneHit]]) -> list[Hit]:
    """Merge hits from vectors and keywords with those from concepts and images, by reciprocal rank fusion."""
    joined = {
        hit.identity: hit._replace(passage_rank=rank, score=1 / (RRF_K + rank))
        for rank, hit in enumerate(hits, start=1)
    }
    for name, lane in further.items():
        led = {found.source.source_id: (rank, found) for rank, found in enumerate(lane, start=1)}
        known = {hit.found.source.source_id for hit in joined.values()}
        joined |= {each: Hit(found, each, 0.0) for each, (_, found) in led.items() if each not in known}
        for identity, hit in joined.items():
            if hit.found.source.source_id in led:
                rank, found = led[hit.found.source.source_id]
                part = LaneContribution(name, rank, found.score, 1.0, 1 / (RRF_K + rank))
                told = hit.found._replace(through=found.through or hit.found.through)
                score = hit.score + part.contribution
                joined[identity] = hit._replace(found=told, score=score, parts=(*hit.parts, part))
    ordered = sorted(joined.values(), key=lambda hit: -hit.score)  # stable for equal scores
    return [hit._replace(fused_rank=rank, fused_score=hit.score) for rank, hit in enumerate(ordered, start=1)]


# Graph hits after the best hits, so that they cannot displace the top

KEPT = 5  # hits with a fixed position


def fill_from_graph(
    plan: SearchPlan, refined: Ranking, hits: Sequence[Hit], carried: Sequence[LaneHit], places: PlaceReader
) -> Ranking:
    """Keep the first hits, and merge the others with hits from concepts, using reciprocal rank fusion.

    `hits` and `refined` are the hits before and after refinement. `carried` contains hits from concepts, best
    first.
    """
    best = [hit._replace(passage_rank=rank) for rank, hit in enumerate(refined.hits[:KEPT], start=1)]
    reordered = plan.request.rerank or plan.request.mmr_lambda is not None
    known, there = {hit.identity for hit in best}, {hit.found.source.source_id for hit in best}
    rest = [hit for hit in (refined.hits if reordered else hits) if hit.identity not in known]
    led = [each for each in carried if each.source.source_id not in there]
    similar = build_vector_filter(plan)
    # Below the threshold, keep only concept hits that accompany a similar hit. Ranks include hits that are
    # dropped later
    beside = similar.similar.keep_carried and any(similar.keeps(hit) for hit in best)
    joined = similar.divide(join_further(rest, {CONCEPTS: led}), beside=beside)
    every, least = [*best], min((hit.score for hit in best), default=0.0)
    for rank, hit in enumerate(scale_below(least, joined.hits), start=len(best) + 1):
        before = None if hit.passage_rank is None else hit.passage_rank + len(best)
        every.append(hit._replace(fused_rank=rank, passage_rank=before))
    return replace(
        refined,
        hits=drop_near_duplicates(every, plan.request, places),
        lost=list_lost_hits(every, refined.lost, joined.lost),
    )


def list_lost_hits(shown: Sequence[Hit], *lost: Sequence[Hit]) -> list[Hit]:
    """List hits that were dropped, each once. Hits that are shown are not included."""
    known = {hit.identity for hit in shown}
    every = {hit.identity: hit for each in lost for hit in each}
    return [hit for identity, hit in every.items() if identity not in known]


# Refinement: reranking, near-duplicates, and diversity, each only if requested


@dataclass(frozen=True, slots=True)
class Reranking:
    """Reranker, and how long it can take."""

    reranker: Reranker | None
    seconds: float


NO_RERANKING = Reranking(None, 0)


class Ranker:
    """Stages to run after fusion."""

    def __init__(self, graph: Graph, reranking: Reranking = NO_RERANKING) -> None:
        self._graph = graph
        self._reranking = reranking

    def refine(self, plan: SearchPlan, ranking: Ranking, places: PlaceReader) -> Ranking:
        """Refine all hits.

        If no hit on the first page passes the similarity threshold, drop concept hits as well.
        """
        similar = build_vector_filter(plan)
        kept = self._select(plan, ranking.hits, places)
        best = kept[: plan.request.limit]
        if best and not any(similar.keeps(hit) for hit in best):
            kept = self._select(plan, similar.keep_strictly(ranking.hits), places)
        return replace(ranking, hits=kept)

    def _select(self, plan: SearchPlan, hits: Sequence[Hit], places: PlaceReader) -> list[Hit]:
        """Rerank hits, remove copies, limit them for each document, and diversify."""
        request, notes = plan.request, list[Degradation]()
        every = self._rerank(plan, hits, places, notes) if request.rerank else hits
        with plan.watch.stage("thin_out"):
            kept = drop_near_duplicates(every, request, places)
        short = len(kept) < request.limit
        if request.mmr_lambda is not None:
            first = max(request.first_stage_limit, request.limit)
            with plan.watch.stage("mmr"):
                kept = [*self._diversify(plan, kept[:first], notes), *kept[first:]]
        if request.collapse_duplicates and short and len(every) > MAX_COMPARED:
            effect = (
                f"the best {MAX_COMPARED} hits are near-duplicates of each other. The remaining hits were "
                "dropped"
            )
            notes.append(Degradation(part="query", effect=effect))
        plan.notes.record("rank", notes)
        return kept

    def _rerank(
        self, plan: SearchPlan, hits: Sequence[Hit], places: PlaceReader, notes: list[Degradation]
    ) -> Sequence[Hit]:
        """Rerank the first hits. The order of the others is not changed."""
        question, depth = plan.request.query_text, plan.request.first_stage_limit
        if question is None:
            notes.append(_describe_failed_rerank("a cross-encoder needs query_text"))
            return hits
        with plan.watch.stage("rerank"):
            first = self._read(question, hits[:depth], places, notes)
            return [*first, *_append_below(first, hits[depth:])]

    def _read(
        self, question: str, hits: Sequence[Hit], places: PlaceReader, notes: list[Degradation]
    ) -> Sequence[Hit]:
        reranker, seconds = self._reranking.reranker, self._reranking.seconds
        if reranker is None:
            notes.append(
                _describe_failed_rerank(
                    "no reranker is configured. See KG_RERANK__PROVIDER in docs/reference/settings.md"
                )
            )
            return hits
        hits = places.keep_existing(hits)
        found = [hit.found for hit in hits]
        texts = read_chunk_texts(self._graph, find_needed_texts(found))
        passages = [to_matched_chunk(each, places[each.source.source_id], texts).text for each in found]
        try:
            scores = reranker.score(question, passages, seconds=seconds)
        except RerankUnavailable as error:
            notes.append(_describe_failed_rerank(str(error)))
            return hits
        if len(scores) < len(hits):
            why = f"{len(scores)} of {len(hits)} hits were read in {seconds:g} s"
            effect = f"{why}. The other hits follow in the fused order"
            notes.append(Degradation(part="rerank", effect=effect))
        blended = blend_scores([hit.score for hit in hits[: len(scores)]], scores)
        read = [
            hit._replace(score=value, rerank_score=score)
            for hit, score, value in zip(hits, scores, blended, strict=False)
        ]
        read.sort(key=lambda hit: (-hit.score, hit.fused_rank))
        placed = [hit._replace(rerank_rank=rank) for rank, hit in enumerate(read, start=1)]
        return [*placed, *_append_below(placed, hits[len(scores) :])]

    def _diversify(self, plan: SearchPlan, hits: Sequence[Hit], notes: list[Degradation]) -> list[Hit]:
        """Order by maximal marginal relevance. If a hit has no vector, it is different from all others."""
        properties = {each.space.key: each.space.vector_property for each in plan.scope.spaces}
        wanted = [
            {
                "identity": hit.identity,
                "source_id": hit.found.source.source_id,
                "chunk_id": hit.found.chunk.chunk_id if hit.found.chunk else None,
                "property": properties.get(plan.scope.get_key(hit.found.source.ontology), "embedding"),
            }
            for hit in hits
        ]
        vectors = read_hit_vectors(self._graph, wanted)
        spaces = [plan.scope.get_space(hit.found.source.ontology) for hit in hits]
        near = compute_similarities([vectors.get(hit.identity) for hit in hits], spaces)
        weight = plan.request.mmr_lambda or 0.0
        order = order_by_marginal_relevance([hit.score for hit in hits], near, weight, plan.reach)
        chosen = [
            hits[at]._replace(score=value, mmr_score=value, mmr_rank=rank)
            for rank, (at, value) in enumerate(order, start=1)
        ]
        if without := sum(hit.identity not in vectors for hit in chosen):
            effect = f"{without} of the hits have no vector: mmr_lambda took them as unlike all others"
            notes.append(Degradation(part="vectors", effect=effect))
        taken = {hit.identity for hit in chosen}
        return [*chosen, *(hit for hit in hits if hit.identity not in taken)]


def _append_below(first: Sequence[Hit], rest: Sequence[Hit]) -> Sequence[Hit]:
    """Append hits, using scores below those in `first`."""
    return scale_below(min(hit.score for hit in first), rest) if first else rest


def _describe_failed_rerank(why: str) -> Degradation:
    return Degradation(part="rerank", effect=f"not reranked, so the fused order applies: {why}")
