"""Search in four nouns: plan -> retrieve -> rank -> present."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.graph.database import Graph
from kg_api.graph.readiness import IndexWatch
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.reading import DocumentReading
from kg_api.models.queries.search import SourceHits, SourceSearch
from kg_api.models.queries.windows import SourceWindow
from kg_api.models.vocabulary import USUAL_READ
from kg_api.search.places import PlaceReader
from kg_api.search.plan.hyde import Hyde
from kg_api.search.plan.picture_vectors import PictureQuestions
from kg_api.search.plan.planner import SearchPlanner
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.plan.similarity import SimilarityFilter
from kg_api.search.present.document import ParagraphReader
from kg_api.search.present.presenter import Presenter
from kg_api.search.present.reading import Reader
from kg_api.search.rank.diversity import go_on
from kg_api.search.rank.graph import fill_from_graph, not_among
from kg_api.search.rank.order import falls_short, fuse_lanes, order
from kg_api.search.rank.pages import can_go_deeper, is_short, take_page
from kg_api.search.rank.ranker import NO_RERANKING, Ranker, Reranking
from kg_api.search.retrieve.candidates import Candidates, Ranking
from kg_api.search.retrieve.retriever import Retriever
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry


class SearchService:
    """Finds sources by meaning, by words, or both. Thread-safe; one a process."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        reranking: Reranking = NO_RERANKING,
        hyde: Hyde | None = None,
        images: ImageSpaceRegistry | None = None,
    ) -> None:
        self._graph = graph
        plans, indexes = PlanWatch(graph), IndexWatch(graph)
        pictures = PictureQuestions(graph, images, indexes)
        self._planner = SearchPlanner(graph, spaces, hyde or Hyde(), plans, indexes, pictures=pictures)
        self._retriever = Retriever(graph, indexes, fuse_lanes)
        self._ranker = Ranker(graph, reranking)
        self._reader = Reader(graph, spaces, plans)
        self._documents = ParagraphReader(graph, spaces, plans)
        self._presenter = Presenter(graph, self._reader)

    def close(self) -> None:
        self._retriever.close()
        self._planner.close()

    def search(self, request: SourceSearch, similar: SimilarityFilter | None = None) -> SourceHits:
        """Find sources. What could not be done is told in `degraded`, never left out silently.

        Args:
            request: what is looked for.
            similar: what is similar enough; None: as the request has it.

        Raises:
            InvalidInput: the query vector does not fit its space, the filters name too many documents, or
                there are too many vectors for an exact search.
            Conflict: the query vector is of a space that is not searched.
            Unavailable: no lane that was asked for can answer.
        """
        return self.answer(self._planner.plan(request, similar))

    def providers(self, ontologies: Sequence[str] | None) -> frozenset[str]:
        """Services that embed a question; see `SearchPlanner.providers`."""
        return self._planner.providers(ontologies)

    def spaces_asked(self, ontologies: Sequence[str] | None) -> list[Space]:
        """Spaces whose models embed a question; see `SearchPlanner.spaces_asked`."""
        return self._planner.spaces_asked(ontologies)

    def plan(self, request: SourceSearch, *, concepts_alone: bool) -> SearchPlan:
        """Work out what to ask where; see `SearchPlanner.plan`."""
        return self._planner.plan(request, concepts_alone=concepts_alone)

    def answer(self, plan: SearchPlan) -> SourceHits:
        """Do what a plan says; deeper where what is left out would make the answer shorter.

        Raises:
            Unavailable: no lane that was asked for can answer.
        """
        places = PlaceReader(self._graph)
        candidates = self._retriever.retrieve(plan)
        ranking = order(plan, candidates)
        while falls_short(plan, candidates, ranking, places):
            plan = plan.deeper
            candidates = self._retriever.retrieve(plan, candidates)
            ranking = order(plan, candidates)
        refined = self._ranker.refine(plan, ranking, places)
        if plan.request.graph:
            refined = fill_from_graph(plan, refined, ranking.hits, candidates.carried, places)
        return self._present(plan, candidates, ranking, refined, places)

    def _present(
        self, plan: SearchPlan, candidates: Candidates, found: Ranking, refined: Ranking, places: PlaceReader
    ) -> SourceHits:
        """Give the page that is wanted; from deeper lanes, where those so far do not fill it."""
        kept = refined.hits
        while is_short(plan, kept):
            kept = go_on(kept, found.hits, plan.request, places)
            if not (is_short(plan, kept) and can_go_deeper(plan, candidates)):
                break
            plan = plan.deeper
            candidates = self._retriever.retrieve(plan, candidates)
            found = order(plan, candidates)
        ranking = replace(refined, hits=kept, lost=not_among(kept, found.lost, refined.lost))
        page = take_page(plan, candidates, ranking, len(found.hits), places)
        return self._presenter.present(plan, page, places, candidates)

    def read(
        self,
        called: str,
        ontology: str | None = None,
        start: int | None = None,
        token_budget: int = USUAL_READ,
    ) -> DocumentReading:
        """A document from a paragraph on, as much as a budget of tokens allows; see `ParagraphReader.read`.

        Raises:
            NotFound: there is no such document.
            Conflict: several are called so.
            InvalidInput: the document has no such paragraph.
        """
        return self._documents.read(called, ontology, start, token_budget)

    def context(self, source_id: str, window: int, token_budget: int | None = None) -> SourceWindow:
        """A source among its neighbours of the same document, as many as a budget of tokens allows.

        Raises:
            NotFound: there is no such source.
        """
        return self._reader.around(source_id, window, token_budget)
