"""Searching concepts and sources together."""

from __future__ import annotations

from kg_api.concepts.search import find_concepts
from kg_api.concepts.wanted import start_embedding
from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.readiness import IndexWatch
from kg_api.graph.search.concepts import WORDS_INDEX
from kg_api.models.concepts.queries import ConceptHit, none_fits
from kg_api.models.queries.hybrid import HybridHits, HybridSearch
from kg_api.models.queries.search import SourceSearch
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.concept_lane import meanings_of
from kg_api.search.service import SearchService

THROUGH_CONCEPTS = frozenset({"hybrid", "concept"})


class HybridService:
    """Finds concepts, and sources by meaning, words and concepts; the question is embedded once."""

    def __init__(self, graph: Graph, search: SearchService) -> None:
        self._graph = graph
        self._search = search
        self._indexes = IndexWatch(graph)

    def search(self, request: HybridSearch) -> HybridHits:
        """Find both. What could not be done is told in `degraded`.

        Raises:
            InvalidInput: the question is blank, or a field does not go with the mode.
            Unavailable: nothing that was asked for can answer.
        """
        plan = self._search.plan(_of_sources(request), concepts_alone=request.mode == "concept")
        found = self._search.answer(plan)
        concepts = self._concepts(plan, request.concept_limit) if request.cursor is None else []
        return HybridHits(
            query_text=request.query_text,
            mode=request.mode,
            concepts=concepts,
            sources=found.sources,
            next_cursor=found.next_cursor,
            near=found.near,
            note=found.note,
            concepts_note=none_fits(request.query_text, concepts),
            windows=found.windows,
            did_you_mean=found.did_you_mean,
            degraded=plan.notes.unique,
            timings_ms=plan.watch.milliseconds(),
        )

    def _concepts(self, plan: SearchPlan, limit: int) -> list[ConceptHit]:
        if not limit:
            return []
        meanings, names = meanings_of(plan), plan.scope.names
        waiting = self._indexes.populating(WORDS_INDEX, *(each.space.concept_index_name for each in meanings))
        with plan.watch.stage("find_concepts"):
            found = find_concepts(self._graph, plan.text, meanings, names, limit, populating=waiting)
        lane = plan.request.follows_concepts  # it has started them
        started = start_embedding(self._graph, plan.known, names) if meanings and not lane else []
        plan.notes.record("find_concepts", [*found.degraded, *started])
        return found.concepts


def _of_sources(request: HybridSearch) -> SourceSearch:
    if request.mode == "text" and request.min_similarity is not None:
        raise InvalidInput("min_similarity needs vectors, and mode 'text' searches without; leave one out")
    return SourceSearch(
        **request.model_dump(exclude={"mode", "concept_limit", "source_limit"}),
        mode="text" if request.mode == "text" else "hybrid",
        limit=request.source_limit,
        concepts=request.mode in THROUGH_CONCEPTS,
        graph=request.mode == "graph",
        include_concepts=True,
    )
