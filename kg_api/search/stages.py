"""What happens to the fused hits before they are told: read again, collapsed, made different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.errors import RerankUnavailable
from kg_api.graph.database import Graph
from kg_api.graph.passages import chunk_texts, vectors_of
from kg_api.models.search import Degradation
from kg_api.rerank.blend import blend
from kg_api.rerank.port import Reranker
from kg_api.search import ranking
from kg_api.search.answer import matched, needed_texts
from kg_api.search.ranking import MOST_COMPARED, Hit, Measure
from kg_api.search.scope import Scope
from kg_api.search.timing import Stopwatch


@dataclass(frozen=True, slots=True)
class Rereading:
    """A reranker and the time it has."""

    reranker: Reranker | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Refined:
    """Hits in their last order, and what could not be done."""

    hits: list[Hit]
    degraded: list[Degradation]


class Stages:
    """The stages behind fusion, each only when it was asked for."""

    def __init__(self, graph: Graph, rereading: Rereading) -> None:
        self._graph = graph
        self._rereading = rereading

    def refine(self, hits: list[Hit], measure: Measure, scope: Scope, watch: Stopwatch) -> Refined:
        """Rerank, collapse near-duplicates, thin out documents, diversify."""
        request = measure.request
        degraded: list[Degradation] = []
        first, rest = hits[: request.first_stage_limit], hits[request.first_stage_limit :]
        if request.rerank and request.query_text is None:
            degraded = [_not_reranked("a cross-encoder reads words, and there is no query_text")]
        elif request.rerank and request.query_text is not None:
            with watch.stage("rerank"):
                first, degraded = self._reranked(request.query_text, first)
                rest = ranking.behind(first, rest)
        hits = ranking.thinned([*first, *rest], request)
        if request.mmr_lambda is not None:
            with watch.stage("mmr"):
                hits, unlike = self._diverse(
                    hits[: max(request.first_stage_limit, request.limit)], measure, scope
                )
                degraded = [*degraded, *unlike]
        if (
            request.collapse_duplicates
            and len(hits) < request.limit
            and len(first) + len(rest) > MOST_COMPARED
        ):
            effect = f"the best {MOST_COMPARED} hits are near-duplicates of few; the others were left out"
            degraded = [*degraded, Degradation(part="query", effect=effect)]
        return Refined(hits[: request.limit], degraded)

    def _reranked(self, question: str, hits: list[Hit]) -> tuple[list[Hit], list[Degradation]]:
        reranker = self._rereading.reranker
        if reranker is None:
            return hits, [_not_reranked("there is no reranker: see KG_RERANK__PROVIDER in docs/settings.md")]
        found = [hit.found for hit in hits]
        texts = chunk_texts(self._graph, needed_texts(hits))
        passages = [matched(each, texts).text for each in found]
        try:
            scores = reranker.score(question, passages, seconds=self._rereading.seconds)
        except RerankUnavailable as error:
            return hits, [_not_reranked(str(error))]
        read = hits[: len(scores)]
        placed = ranking.reranked(read, scores, blend([hit.score for hit in read], scores))
        placed = [*placed, *ranking.behind(placed, hits[len(scores) :])]
        if len(scores) == len(hits):
            return placed, []
        why = f"{len(scores)} of {len(hits)} hits were read in {self._rereading.seconds:g} s"
        return placed, [
            Degradation(part="rerank", effect=f"{why}; the others keep the fused order behind them")
        ]

    def _diverse(
        self, hits: Sequence[Hit], measure: Measure, scope: Scope
    ) -> tuple[list[Hit], list[Degradation]]:
        properties = {each.space.key: each.space.vector_property for each in scope.spaces}
        wanted = [
            {
                "identity": hit.identity,
                "source_id": hit.found.place.source_id,
                "chunk_id": hit.found.chunk.chunk_id if hit.found.chunk else None,
                "property": properties.get(scope.key_of(hit.found.place.ontology), "embedding"),
            }
            for hit in hits
        ]
        vectors = vectors_of(self._graph, wanted)
        chosen = ranking.diverse(hits, vectors, measure, measure.request.limit)
        without = sum(hit.identity not in vectors for hit in chosen)
        if not without:
            return chosen, []
        effect = f"{without} of the hits have no vector: mmr_lambda took them as unlike all others"
        return chosen, [Degradation(part="vectors", effect=effect)]


def _not_reranked(why: str) -> Degradation:
    return Degradation(part="rerank", effect=f"not reranked, the fused order stands: {why}")
