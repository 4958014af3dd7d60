"""Relationships that are embedded by what they say, and their types by their names."""

from __future__ import annotations

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.relations.vectors import EdgePlan, due_edges, write_edge_vectors
from kg_api.graph.spaces.due import DueText, Wanted
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.text_target import EmbeddedTexts, TextTarget


class EdgeTarget(TextTarget):
    """What is due in a space of an ontology's relationships, or of their types, in the order of their ids."""

    noun = "relationship"
    is_written_together = True

    def __init__(self, graph: Graph, plan: EdgePlan, wanted: Wanted, model: SpaceModel) -> None:
        super().__init__(graph, plan.space, wanted, model)
        self.name = f"{plan.label}={plan.space.slug}={plan.mark.value}"
        self._plan = plan

    def due(self, after: str, limit: int) -> list[DueText]:
        return due_edges(self._graph, self._wanted, after=after, limit=limit)

    def write(self, tx: Transaction, batch: EmbeddedTexts) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        return write_edge_vectors(tx, self._plan, batch)
