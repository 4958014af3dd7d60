"""Concepts that are embedded: by their label and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kg_api.graph.concepts.vectors import ConceptPlan, concepts_before, due_concepts, write_concept_vectors
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.due import DueText, Wanted
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.text_target import EmbeddedTexts, TextTarget

Merge = Callable[[Iterable[str]], object]
"""Merges concepts with those that are the same."""


class ConceptTarget(TextTarget):
    """The concepts of an ontology that are due in a space, in the order of their ids."""

    noun = "concept"

    def __init__(
        self, graph: Graph, plan: ConceptPlan, wanted: Wanted, model: SpaceModel, merge: Merge
    ) -> None:
        """`merge`: given the ids of each batch that is written."""
        super().__init__(graph, plan.space, wanted, model)
        self.name = f"{plan.space.slug}={plan.mark.value}"
        self._plan = plan
        self._merge = merge
        self._written: list[str] = []

    def due(self, after: str, limit: int) -> list[DueText]:
        return due_concepts(self._graph, self._wanted, after=after, limit=limit)

    def write(self, tx: Transaction, batch: EmbeddedTexts) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        self._written = write_concept_vectors(tx, self._plan, batch)
        return len(self._written)

    def committed(self) -> None:
        """Merge what was written with what is the same."""
        self._merge(self._written)

    def resume(self, place: str, limit: int) -> None:
        """Merge the last batch: a worker may have died before it did."""
        self._merge(concepts_before(self._graph, self._plan, place, limit))
