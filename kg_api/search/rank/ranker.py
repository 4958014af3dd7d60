"""Refining an order: read again, near-duplicates once, made different; each only when it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kg_api.errors import RerankUnavailable
from kg_api.graph.database import Graph
from kg_api.graph.search.passages import chunk_texts, vectors_of
from kg_api.models.queries.search import Degradation
from kg_api.rerank.blend import blend
from kg_api.rerank.port import Reranker
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.rank.diversity import MAX_COMPARED, diverse, thin_out
from kg_api.search.rank.threshold import filter_of
from kg_api.search.retrieve.candidates import Ranking
from kg_api.search.retrieve.hits import Hit, below, find_needed_texts, to_matched_chunk


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker and the time it has."""

    reranker: Reranker | None
    seconds: float


NO_RERANKING = Reranking(None, 0)


class Ranker:
    """The stages behind fusion."""

    def __init__(self, graph: Graph, reranking: Reranking = NO_RERANKING) -> None:
        self._graph = graph
        self._reranking = reranking

    def refine(self, plan: SearchPlan, ranking: Ranking, places: PlaceReader) -> Ranking:
        """All hits; the best are not only such as concepts brought beside one that is not among them."""
        similar = filter_of(plan)
        kept = self._kept(plan, ranking.hits, places)
        best = kept[: plan.request.limit]
        if best and not any(similar.passes(hit) for hit in best):
            kept = self._kept(plan, similar.strict(ranking.hits), places)
        return replace(ranking, hits=kept)

    def _kept(self, plan: SearchPlan, hits: Sequence[Hit], places: PlaceReader) -> list[Hit]:
        """Rerank, collapse near-duplicates, thin out documents, diversify."""
        request, notes = plan.request, list[Degradation]()
        every = self._rerank(plan, hits, places, notes) if request.rerank else hits
        with plan.watch.stage("thin_out"):
            kept = thin_out(every, request, places)
        short = len(kept) < request.limit
        if request.mmr_lambda is not None:
            first = max(request.first_stage_limit, request.limit)
            with plan.watch.stage("mmr"):
                kept = [*self._diverse(plan, kept[:first], notes), *kept[first:]]
        if request.collapse_duplicates and short and len(every) > MAX_COMPARED:
            effect = f"the best {MAX_COMPARED} hits are near-duplicates of few; the others were left out"
            notes.append(Degradation(part="query", effect=effect))
        plan.notes.record("rank", notes)
        return kept

    def _rerank(
        self, plan: SearchPlan, hits: Sequence[Hit], places: PlaceReader, notes: list[Degradation]
    ) -> Sequence[Hit]:
        """Let the reranker read the first ones."""
        question, depth = plan.request.query_text, plan.request.first_stage_limit
        if question is None:
            notes.append(_not_reranked("a cross-encoder reads words, and there is no query_text"))
            return hits
        with plan.watch.stage("rerank"):
            first = self._read(question, hits[:depth], places, notes)
            return [*first, *_behind(first, hits[depth:])]

    def _read(
        self, question: str, hits: Sequence[Hit], places: PlaceReader, notes: list[Degradation]
    ) -> Sequence[Hit]:
        reranker, seconds = self._reranking.reranker, self._reranking.seconds
        if reranker is None:
            notes.append(_not_reranked("there is no reranker: see KG_RERANK__PROVIDER in docs/settings.md"))
            return hits
        hits = places.there(hits)
        found = [hit.found for hit in hits]
        texts = chunk_texts(self._graph, find_needed_texts(found))
        passages = [to_matched_chunk(each, places[each.source.source_id], texts).text for each in found]
        try:
            scores = reranker.score(question, passages, seconds=seconds)
        except RerankUnavailable as error:
            notes.append(_not_reranked(str(error)))
            return hits
        if len(scores) < len(hits):
            why = f"{len(scores)} of {len(hits)} hits were read in {seconds:g} s"
            effect = f"{why}; the others keep the fused order behind them"
            notes.append(Degradation(part="rerank", effect=effect))
        placed = _apply_scores(hits[: len(scores)], scores)
        return [*placed, *_behind(placed, hits[len(scores) :])]

    def _diverse(self, plan: SearchPlan, hits: Sequence[Hit], notes: list[Degradation]) -> list[Hit]:
        properties = {each.space.key: each.space.vector_property for each in plan.scope.spaces}
        wanted = [
            {
                "identity": hit.identity,
                "source_id": hit.found.source.source_id,
                "chunk_id": hit.found.chunk.chunk_id if hit.found.chunk else None,
                "property": properties.get(plan.scope.key_of(hit.found.source.ontology), "embedding"),
            }
            for hit in hits
        ]
        vectors = vectors_of(self._graph, wanted)
        chosen = diverse(plan, hits, vectors)
        if without := sum(hit.identity not in vectors for hit in chosen):
            effect = f"{without} of the hits have no vector: mmr_lambda took them as unlike all others"
            notes.append(Degradation(part="vectors", effect=effect))
        taken = {hit.identity for hit in chosen}
        return [*chosen, *(hit for hit in hits if hit.identity not in taken)]


def _apply_scores(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Hits that were read, in the order of their blended scores."""
    blended = blend([hit.score for hit in hits], scores)
    given = zip(hits, scores, blended, strict=True)
    read = [hit._replace(score=value, rerank_score=score) for hit, score, value in given]
    ordered = sorted(read, key=lambda hit: (-hit.score, hit.fused_rank))
    return [hit._replace(rerank_rank=rank) for rank, hit in enumerate(ordered, start=1)]


def _behind(first: Sequence[Hit], rest: Sequence[Hit]) -> list[Hit]:
    """Hits that were not read, in their order, with scores below those that were."""
    if not first:
        return list(rest)
    return below(min(hit.score for hit in first), rest)


def _not_reranked(why: str) -> Degradation:
    return Degradation(part="rerank", effect=f"not reranked, the fused order stands: {why}")
