"""The gate before a space of pictures answers: model, index, completeness, every vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.configure.findings import check_index, check_model, to_check
from kg_api.graph.database import Graph
from kg_api.graph.images.vectors import ImagePlan, check_image_vectors
from kg_api.graph.spaces.due import count_behind
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.switching import Finding, SpaceCheck
from kg_api.spaces.activation import describe_refused
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.plans import EmbeddingState


class ImageSpaceChecker:
    """Looks whether what is built in a space of pictures can answer."""

    def __init__(self, graph: Graph, spaces: ImageSpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def check(
        self, space: Space, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
    ) -> SpaceCheck:
        """Check a space's model and index, and each ontology that is or shall be answered by it."""
        plans = [each.image_plans[-1] for each in embedding_states if each.image_plans]
        found = (each for plan in plans for each in self._ontology(plan, accept_refused=accept_refused))
        model = check_model(self._spaces.of(space), "drawn picture")
        return to_check(space, [model, check_index(self._graph, space.image_index_name), *found])

    def _ontology(self, plan: ImagePlan, *, accept_refused: bool) -> Iterator[Finding]:
        name, behind = plan.ontology, self._graph.transaction(lambda tx: count_behind(tx, plan.wanted()))
        told = f"{behind.behind} pictures are not built yet" if behind.behind else "all pictures are built"
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if behind.refused:
            told = describe_refused(behind.refused, "pictures")
            yield Finding(name="refused", ok=accept_refused, detail=f"{name}: {told}")
        built, wrong = check_image_vectors(self._graph, plan)
        told = f"{name}: {built} pictures; {wrong} vectors that are not there or that an index leaves out"
        yield Finding(name="vectors", ok=not wrong, detail=told)
