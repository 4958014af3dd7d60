"""The gate before a space answers: index, model, completeness, every vector, and whether they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.errors import KgError
from kg_api.graph.checking import count_vectors, lost_in_index
from kg_api.graph.concept_vectors import concepts_behind
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import count_behind
from kg_api.graph.indexes import index_states
from kg_api.graph.spaces import Space
from kg_api.models.switching import Finding, SpaceCheck
from kg_api.spaces.activation import refused_told
from kg_api.spaces.plans import Standing
from kg_api.spaces.registry import SpaceRegistry


class SpaceChecker:
    """Looks whether what is built in a space can answer."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def check(
        self, space: Space, standings: Sequence[Standing], *, accept_refused: bool = False
    ) -> SpaceCheck:
        """Check a space's model, and each ontology that is or shall be answered by it.

        Args:
            space: which.
            standings: of the ontologies.
            accept_refused: whether it is fine that the model does not take some texts.
        """
        found = (each for one in standings for each in self._ontology(one, accept_refused=accept_refused))
        findings = [self._model(space), *found]
        return SpaceCheck(slug=space.slug, ok=all(each.ok for each in findings), findings=findings)

    def _model(self, space: Space) -> Finding:
        try:
            self._spaces.of(space).check()
        except KgError as error:
            return Finding(name="model", ok=False, detail=str(error))
        return Finding(name="model", ok=True, detail="answers its probe text as it always did")

    def _ontology(self, standing: Standing, *, accept_refused: bool) -> Iterator[Finding]:
        plan = standing.target
        index = self._index(plan.space)
        yield index
        name, answering = plan.ontology, standing.answering.mark.key
        behind = self._graph.transaction(lambda tx: count_behind(tx, name, plan.mark, answering))
        told = (
            f"{behind.behind} sources are not built yet" if behind.behind else "all is built that answers now"
        )
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if concepts := self._graph.transaction(lambda tx: _concepts_behind(tx, standing)):
            told = f"{concepts} concepts are not built yet"
            yield Finding(name="concepts", ok=False, detail=f"{name}: {told}")
        if behind.refused:
            told = refused_told(behind.refused)
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
        lost, sampled = lost_in_index(self._graph, name, plan.space, plan.mark)
        told = f"of {sampled} vectors asked for by themselves the index gives back {sampled - lost}"
        yield Finding(name="found", ok=not lost, detail=f"{name}: {told}")

    def _index(self, space: Space) -> Finding:
        state = index_states(self._graph).get(space.index_name)
        if state is None:
            return Finding(name="index", ok=False, detail=f"the index {space.index_name} is not there")
        told = f"the index {space.index_name} is {state.state.lower()}, {state.percent:.0f} % populated"
        return Finding(name="index", ok=state.online, detail=told)


def _concepts_behind(tx: Transaction, standing: Standing) -> int:
    return sum(concepts_behind(tx, plan) for plan in standing.concept_plans)
