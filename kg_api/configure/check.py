"""The gate before a space answers: index, model, completeness, every vector, and whether they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.errors import KgError
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.indexes import index_states
from kg_api.graph.spaces.checks import count_vectors, find_lost_in_index
from kg_api.graph.spaces.due import count_behind
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
        findings = [self._model(space), *found]
        return SpaceCheck(slug=space.slug, ok=all(each.ok for each in findings), findings=findings)

    def _model(self, space: Space) -> Finding:
        try:
            self._spaces.of(space).check()
        except KgError as error:
            return Finding(name="model", ok=False, detail=str(error))
        return Finding(name="model", ok=True, detail="answers its probe text as it always did")

    def _ontology(self, embedding_state: EmbeddingState, *, accept_refused: bool) -> Iterator[Finding]:
        plan = embedding_state.target
        index = self._index(plan.space)
        yield index
        name = plan.ontology
        behind = self._graph.transaction(lambda tx: count_behind(tx, embedding_state.wanted(plan)))
        told = (
            f"{behind.behind} sources are not built yet" if behind.behind else "all is built that answers now"
        )
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if concepts := self._graph.transaction(lambda tx: _concepts_behind(tx, embedding_state)):
            told = f"{concepts} concepts are not built yet"
            yield Finding(name="concepts", ok=False, detail=f"{name}: {told}")
        if edges := self._graph.transaction(lambda tx: _edges_behind(tx, embedding_state)):
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

    def _index(self, space: Space) -> Finding:
        state = index_states(self._graph).get(space.index_name)
        if state is None:
            return Finding(name="index", ok=False, detail=f"the index {space.index_name} is not there")
        told = f"the index {space.index_name} is {state.state.lower()}, {state.percent:.0f} % populated"
        return Finding(name="index", ok=state.online, detail=told)


def _concepts_behind(tx: Transaction, embedding_state: EmbeddingState) -> int:
    return sum(count_behind(tx, plan.wanted()).behind for plan in embedding_state.concept_plans)


def _edges_behind(tx: Transaction, embedding_state: EmbeddingState) -> int:
    return sum(count_behind(tx, plan.wanted()).behind for plan in embedding_state.edge_plans)
