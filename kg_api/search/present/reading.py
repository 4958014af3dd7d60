"""Reading around what was found."""

from __future__ import annotations

from kg_api.errors import NotFound
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_source, neighbours
from kg_api.graph.naming.documents import is_whole_id
from kg_api.graph.naming.nodes import first_source, names_place
from kg_api.models.queries.places import ContextWindow, Place
from kg_api.models.queries.search import Degradation, SourceHit
from kg_api.models.queries.windows import SourceWindow
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.present.windows import fit_to_budget, merge_windows
from kg_api.spaces.counting import ModelTokenCounter, token_counter
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry


class Reader:
    """Gives sources their neighbours, as many as a budget of tokens allows."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, plans: PlanWatch) -> None:
        self._graph = graph
        self._spaces = spaces
        self._plans = plans

    def around(self, source_id: str, window: int, token_budget: int | None) -> SourceWindow:
        """A source among its neighbours of the same document; called as a document, the one it begins with.

        Raises:
            NotFound: there is no such source or document.
            Conflict: several are called so.
        """
        source = self._source(source_id)
        around = neighbours(self._graph, [source], window)[source.source_id]
        whole = SourceWindow(source_id=source.source_id, window_size=window, sources=around)
        if token_budget is None:
            return whole
        known = self._plans.known([source.ontology])
        counter = token_counter(self._spaces.of(known.space_of(source.ontology)))
        kept = fit_to_budget(whole, counter, token_budget)
        if counter.problem is not None:
            kept.degraded.append(Degradation(part="windows", effect=counter.problem))
        return kept

    def _source(self, called: str) -> Place:
        try:
            return find_source(self._graph, called)
        except NotFound as unknown:
            try:
                return find_source(self._graph, first_source(self._graph, called))
            except NotFound as error:
                raise unknown if is_whole_id(called) or names_place(called) else error from None

    def windows(self, plan: SearchPlan, hits: list[SourceHit]) -> list[ContextWindow]:
        """Give each hit its neighbours, and all of them as windows within the budget."""
        request = plan.request
        with plan.watch.stage("context"):
            counter = token_counter(self._spaces.of(plan.scope.models[0]))
            windows, left_out = read_windows(
                self._graph, hits, counter, request.window_size, request.token_budget
            )
        notes = [counter.problem] if counter.problem else []
        if left_out:
            notes.append(f"token_budget: the windows have no room for {left_out} of the hits")
        plan.notes.record("context", (Degradation(part="windows", effect=note) for note in notes))
        return windows


def read_windows(
    graph: Graph, hits: list[SourceHit], counter: ModelTokenCounter, window: int, token_budget: int | None
) -> tuple[list[ContextWindow], int]:
    """Give each hit its neighbours; all of them as windows, and how many hits have no room in the budget."""
    places: dict[str, Place] = {hit.source_id: hit for hit in hits}  # two chunks may be of one
    around = neighbours(graph, [*places.values()], window)
    for hit in hits:
        hit.context = around[hit.source_id]
    return merge_windows(hits, counter, token_budget)
