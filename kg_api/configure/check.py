"""The gate before a space answers: index, model, completeness, every vector, and whether they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.configure.findings import check_index, check_model, to_check
from kg_api.graph.concepts.vectors import ConceptPlan
from kg_api.graph.database import Graph
from kg_api.graph.relations.vectors import EdgePlan
from kg_api.graph.spaces.checks import count_vectors, find_lost_in_index
from kg_api.graph.spaces.due import count_all_behind, count_behind
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.switching import Finding, SpaceCheck
from kg_api.spaces.activation import describe_refused
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.registry import SpaceRegistry


class SpaceChecker:
    """Looks whether what is built in a space can answer."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def check(
        self, space: Space, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
    ) -> SpaceCheck:
        """Check a space's model, and each ontology that is or shall be answered by it.

        Args:
            space: which.
            embedding_states: of the ontologies.
            accept_refused: whether it is fine that the model does not take some texts.
        """
        found = (
            each for one in embedding_states for each in self._ontology(one, accept_refused=accept_refused)
        )
        return to_check(space, [check_model(self._spaces.of(space), "probe text"), *found])

    def _ontology(self, embedding_state: EmbeddingState, *, accept_refused: bool) -> Iterator[Finding]:
        plan = embedding_state.target
        index = check_index(self._graph, plan.space.index_name)
        yield index
        name = plan.ontology
        behind = self._graph.transaction(lambda tx: count_behind(tx, embedding_state.wanted(plan)))
        told = (
            f"{behind.behind} sources are not built yet" if behind.behind else "all is built that answers now"
        )
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if concepts := self._behind(embedding_state.concept_plans):
            told = f"{concepts} concepts are not built yet"
            yield Finding(name="concepts", ok=False, detail=f"{name}: {told}")
        if edges := self._behind(embedding_state.edge_plans):
            told = f"{edges} relationships and types of them are not built yet"
            yield Finding(name="relationships", ok=False, detail=f"{name}: {told}")
        if behind.refused:
            told = describe_refused(behind.refused)
            yield Finding(name="refused", ok=accept_refused, detail=f"{name}: {told}")
        counts = count_vectors(self._graph, name, plan.space, plan.mark)
        wrong = counts.without + counts.wrong + counts.orphans
        detail = (
            f"{name}: {counts.built} sources, {counts.chunks} chunks; {counts.without} without a vector, "
        )
        detail += f"{counts.wrong} vectors that an index leaves out, {counts.orphans} chunks of no source"
        yield Finding(name="vectors", ok=not wrong, detail=detail)
        if not index.ok:
            return
        lost, sampled = find_lost_in_index(self._graph, name, plan.space, plan.mark)
        told = f"of {sampled} vectors asked for by themselves the index gives back {sampled - lost}"
        yield Finding(name="found", ok=not lost, detail=f"{name}: {told}")

    def _behind(self, plans: Sequence[ConceptPlan | EdgePlan]) -> int:
        return self._graph.transaction(lambda tx: count_all_behind(tx, [plan.wanted() for plan in plans]))
