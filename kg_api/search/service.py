"""Search services, which plan, retrieve, rank, and present passages, or concepts and passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kg_api.concepts.search import find_concepts, start_embedding
from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.search import WORDS_INDEX
from kg_api.graph.spaces import Space
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.concepts import ConceptHit, describe_no_match
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.search.plan import SearchPlan, SearchPlanner
from kg_api.search.present import Presenter
from kg_api.search.question import Hyde, PictureQuestions, SimilarityFilter
from kg_api.search.rank import (
    NO_RERANKING,
    PlaceReader,
    Ranker,
    Reranking,
    can_go_deeper,
    extend_page,
    fill_from_graph,
    fuse_lanes,
    is_short,
    list_lost_hits,
    needs_more,
    order,
    take_page,
)
from kg_api.search.retrieve import Retriever, list_meanings
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import get_snapshots

WARM_UP_WORDS: Final = 8


class SearchService:
    """Finds sources by vectors, keywords, or both. Thread-safe, one for each process."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        reranking: Reranking = NO_RERANKING,
        hyde: Hyde | None = None,
        images: ImageSpaceRegistry | None = None,
    ) -> None:
        self._graph = graph
        snapshots = get_snapshots(graph)
        pictures = PictureQuestions(graph, images, snapshots)
        self._planner = SearchPlanner(graph, spaces, hyde or Hyde(), snapshots, pictures=pictures)
        self._retriever = Retriever(graph, snapshots, fuse_lanes)
        self._ranker = Ranker(graph, reranking)
        self._presenter = Presenter(graph, spaces)

    def close(self) -> None:
        self._retriever.close()

    def search(self, request: SourceSearch, similar: SimilarityFilter | None = None) -> SourceHits:
        """Find sources. `degraded` lists the parts of the search that did not work.

        `similar` overrides the request's similarity threshold.

        Raises:
            InvalidInput: The query vector does not fit its space, the filters match too many documents, or an
                exact search has too many vectors.
            Conflict: The query vector belongs to a space that is not searched.
            Unavailable: No requested retriever is available.
        """
        return self.answer(self._planner.plan(request, similar))

    def list_query_spaces(self, ontologies: Sequence[str] | None) -> list[Space]:
        return self._planner.list_query_spaces(ontologies)

    def plan(self, request: SourceSearch, *, concepts_alone: bool) -> SearchPlan:
        return self._planner.plan(request, concepts_alone=concepts_alone)

    def answer(self, plan: SearchPlan) -> SourceHits:
        """Run a plan. If there are not enough hits, go deeper.

        Raises:
            Unavailable: No requested retriever is available.
        """
        places, request = PlaceReader(self._graph), plan.request
        candidates = self._retriever.retrieve(plan)
        found = order(plan, candidates)
        while needs_more(plan, candidates, found, places):
            plan = plan.deeper
            candidates = self._retriever.retrieve(plan, candidates)
            found = order(plan, candidates)
        refined = self._ranker.refine(plan, found, places)
        if request.graph:
            refined = fill_from_graph(plan, refined, found.hits, candidates.carried, places)
        kept = refined.hits
        while is_short(plan, kept):  # results so far do not fill the page
            kept = extend_page(kept, found.hits, request, places)
            if not (is_short(plan, kept) and can_go_deeper(plan, candidates)):
                break
            plan = plan.deeper
            candidates = self._retriever.retrieve(plan, candidates)
            found = order(plan, candidates)
        ranking = replace(refined, hits=kept, lost=list_lost_hits(kept, found.lost, refined.lost))
        page = take_page(plan, candidates, ranking, len(found.hits), places)
        return self._presenter.present(plan, page, places, candidates)

    def warm_up(self, is_ending: Callable[[], bool] = lambda: False) -> None:
        """Let Neo4j plan the statements of a usual search, which takes a second or more after its start.

        No model is asked. The question is the beginning of a stored text. The first of the two searches also
        looks up whether its words are known.

        Args:
            is_ending: Checked between the searches, so that a service that ends waits for one search only.
        """
        if not self._graph.read("ontologies/count")[0]["ontologies"]:
            return  # and keep no snapshot without the first ontology, which may be on its way
        for space in self.list_query_spaces(None)[:1]:
            given = SourceSearch(
                query_vector=[1.0] * space.dimensions, space=space.slug, mode="vector", limit=1
            )
            for hit in self.search(given).sources:
                words = " ".join(re.findall(r"\w+", hit.full_text)[:WARM_UP_WORDS])
                usual = given.model_copy(update={"query_text": words, "mode": "hybrid"})
                for _ in range(2 if words else 0):
                    if is_ending():
                        return
                    self.search(usual)


# Hybrid search for concepts and sources

THROUGH_CONCEPTS = frozenset({"hybrid", "concept"})


class HybridService:
    """Finds concepts, and sources using vectors, keywords, and concepts. The question is embedded once."""

    def __init__(self, graph: Graph, search: SearchService) -> None:
        self._graph = graph
        self._search = search
        self._snapshots = get_snapshots(graph)

    def search(self, request: HybridSearch) -> HybridHits:
        """Find concepts and sources. `degraded` lists the parts of the search that did not work.

        Raises:
            InvalidInput: The question is blank, or a field is invalid in this mode.
            Unavailable: No requested retriever is available.
        """
        plan = self._search.plan(_to_source_search(request), concepts_alone=request.mode == "concept")
        found = self._search.answer(plan)
        concepts = self._find_concepts(plan, request.concept_limit) if request.cursor is None else []
        return HybridHits(
            query_text=request.query_text,
            mode=request.mode,
            concepts=concepts,
            sources=found.sources,
            next_cursor=found.next_cursor,
            near=found.near,
            note=found.note,
            concepts_note=describe_no_match(request.query_text, concepts),
            windows=found.windows,
            did_you_mean=found.did_you_mean,
            degraded=plan.notes.unique,
            timings_ms=plan.watch.get_milliseconds(),
        )

    def _find_concepts(self, plan: SearchPlan, limit: int) -> list[ConceptHit]:
        if not limit:
            return []
        meanings, names = list_meanings(plan), plan.scope.names
        waiting = self._snapshots.read_populating(
            WORDS_INDEX, *(each.space.concept_index_name for each in meanings)
        )
        with plan.watch.stage("find_concepts"):
            found = find_concepts(self._graph, plan.text, meanings, names, limit, populating=waiting)
        lane = plan.request.follows_concepts  # the concept retriever already started these jobs
        started = start_embedding(self._graph, plan.known, names) if meanings and not lane else []
        plan.notes.record("find_concepts", [*found.degraded, *started])
        return found.concepts


def _to_source_search(request: HybridSearch) -> SourceSearch:
    if request.mode == "text" and request.min_similarity is not None:
        raise InvalidInput(
            "min_similarity needs vectors, but mode 'text' searches without them. Omit one of the two"
        )
    return SourceSearch(
        **request.model_dump(exclude={"mode", "concept_limit", "source_limit"}),
        mode="text" if request.mode == "text" else "hybrid",
        limit=request.source_limit,
        concepts=request.mode in THROUGH_CONCEPTS,
        graph=request.mode == "graph",
        include_concepts=True,
    )
