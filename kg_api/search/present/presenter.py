"""Presenting: ranked hits -> the answer, with what they say, what is around them and all notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg_api.graph.database import Graph
from kg_api.graph.fulltext.matches import QuestionWords
from kg_api.graph.search.carried import concepts_of
from kg_api.graph.search.passages import TEXT_INDEX, chunk_texts
from kg_api.models.queries.places import DescribedPlace, WordMatch
from kg_api.models.queries.search import CarriedConcept, Explanation, LanePart, SourceHit, SourceHits
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.present.reading import Reader
from kg_api.search.rank.graph import KEPT
from kg_api.search.rank.nearness import nearness
from kg_api.search.rank.threshold import left_out
from kg_api.search.retrieve.candidates import Candidates, Ranking
from kg_api.search.retrieve.hits import (
    CONCEPTS,
    PICTURES,
    TEXT,
    VECTOR,
    Hit,
    Texts,
    find_needed_texts,
    to_matched_chunk,
    to_parent_chunk,
)

CarriedSources = Mapping[str, Sequence[CarriedConcept]]
"""The concepts of sources, by their id."""
EXACT = "exact"
NO_CONCEPTS: CarriedSources = {}


class Presenter:
    """Reads once what is shown."""

    def __init__(self, graph: Graph, reader: Reader) -> None:
        self._graph = graph
        self._reader = reader

    def present(
        self, plan: SearchPlan, ranking: Ranking, places: PlaceReader, candidates: Candidates
    ) -> SourceHits:
        request = plan.request
        hits = self._hits(plan, ranking, places)
        told = nearness(plan, candidates, hits)
        windows = self._reader.windows(plan, hits) if request.expand_context else []
        spaces = [vector.space.slug for vector in plan.vectors if vector.vector is not None]
        hypothetical = (list(each.hypothetical) for each in plan.vectors if each.hypothetical)
        return SourceHits(
            query_text=request.query_text,
            mode=plan.mode,
            space=spaces[0] if len(spaces) == 1 else None,
            spaces=spaces,
            picture_spaces=[each.space.slug for each in plan.pictured],
            hypothetical=next(hypothetical, list[str]()),
            sources=hits,
            next_cursor=_next_cursor(plan, ranking),
            left_out=left_out(ranking),
            near=told.near,
            note=told.note,
            windows=windows,
            did_you_mean=plan.notes.respelt,
            degraded=plan.notes.all,
            timings_ms=plan.watch.milliseconds(),
        )

    def _hits(self, plan: SearchPlan, ranking: Ranking, places: PlaceReader) -> list[SourceHit]:
        found = [hit.found for hit in ranking.hits]
        with plan.watch.stage("tell"):
            ids = [each.source.source_id for each in found]
            carried = concepts_of(self._graph, ids) if plan.request.include_concepts else {}
            texts = chunk_texts(self._graph, find_needed_texts(found))
            return present_hits(plan, ranking.hits, places.read(ids), texts, carried)


def _next_cursor(plan: SearchPlan, ranking: Ranking) -> str | None:
    if not (ranking.more and plan.page.may_follow):
        return None
    if not (ranking.hits or plan.page.given):  # the cursor behind an empty first page were that page again
        return None
    return plan.page.next_cursor(hit.identity for hit in ranking.hits)


def present_hits(
    plan: SearchPlan,
    hits: Sequence[Hit],
    places: Mapping[str, DescribedPlace],
    texts: Texts,
    carried: CarriedSources = NO_CONCEPTS,
) -> list[SourceHit]:
    """As the answer gives them; without those that were deleted since they were found.

    Args:
        plan: what was asked.
        hits: the best ones.
        places: their sources.
        texts: what the chunks named by `find_needed_texts` say.
        carried: the concepts of the hits, where they were asked for.
    """
    there = ((hit, places.get(hit.found.source.source_id)) for hit in hits)
    shown = [_present(plan, hit, place, texts, carried) for hit, place in there if place is not None]
    words = QuestionWords(plan.text)
    for each in shown:
        each.matches = [WordMatch(start=start, end=end) for start, end in words.find(each.full_text)]
    return shown


def _present(
    plan: SearchPlan, hit: Hit, place: DescribedPlace, texts: Texts, carried: CarriedSources
) -> SourceHit:
    found = hit.found
    return SourceHit(
        **place.model_dump(),
        similarity=found.similarity,
        space=None if found.similarity is None else plan.scope.space_of(place.ontology),
        score=hit.score,
        ranks=hit.ranks,
        chunk=to_matched_chunk(found, place, texts),
        parent=to_parent_chunk(found, texts),
        duplicates=list(hit.duplicates),
        concepts=list(carried.get(place.source_id, ())),
        through=list(found.through),
        explanation=_explain(plan, hit) if plan.request.explain else None,
    )


def _explain(plan: SearchPlan, hit: Hit) -> Explanation:
    indexes = _indexes(plan)
    lanes = [LanePart(**part._asdict(), index=indexes.get(part.lane, "")) for part in hit.parts]
    return Explanation(
        lanes=lanes,
        fusion=_fusion(plan),
        fused_rank=hit.fused_rank,
        passage_rank=hit.passage_rank,
        fused_score=hit.fused_score,
        rerank_score=hit.rerank_score,
        rerank_rank=hit.rerank_rank,
        mmr_score=hit.mmr_score,
        mmr_rank=hit.mmr_rank,
    )


def _indexes(plan: SearchPlan) -> dict[str, str]:
    """The index, or indexes, of each lane."""
    named = {
        f"{VECTOR}{slug}": EXACT if plan.request.exact else ", ".join(plan.scope.indexes(vector.space))
        for slug, vector in plan.usable.items()
    }
    pictured = {f"{PICTURES}{each.space.slug}": each.space.image_index_name for each in plan.pictured}
    return {**named, **pictured, TEXT: TEXT_INDEX, CONCEPTS: "concepts"}


def _fusion(plan: SearchPlan) -> str:
    """How the lanes were joined."""
    fusion = plan.request.fusion if plan.lanes > 1 else "none"
    with_them = [*(["concepts"] if plan.request.concepts else []), *(["pictures"] if plan.pictured else [])]
    steps = [*([] if fusion == "none" else [fusion])]
    if with_them:
        steps.append(f"rrf with {' and '.join(with_them)}")
    if plan.request.graph:
        steps.append(f"rrf with concepts behind the first {KEPT}")
    return ", then ".join(steps) or fusion
