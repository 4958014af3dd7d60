"""Relationships that are embedded by what they say, and their types by their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.relations.vectors import EdgePlan, EdgeText, due_edges, write_edge_vectors
from kg_api.graph.spaces.due import Wanted, count_due
from kg_api.graph.spaces.marks import reject
from kg_api.jobs.embedding.concept_target import fitting
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.target import EmbeddingTarget

EmbeddedEdges = Sequence[tuple[EdgeText, NDArray[np.float32]]]


class EdgeTarget(EmbeddingTarget[EdgeText, EmbeddedEdges]):
    """What is due in a space of an ontology's relationships, or of their types, in the order of their ids."""

    noun = "relationship"
    is_written_together = True

    def __init__(self, graph: Graph, plan: EdgePlan, wanted: Wanted, model: SpaceModel) -> None:
        self.name = f"{plan.label}={plan.space.slug}={plan.mark.value}"
        self._graph = graph
        self._plan = plan
        self._wanted = wanted
        self._model = model

    @property
    def model(self) -> SpaceModel:
        """That of the space."""
        return self._model

    def due(self, after: str, limit: int) -> list[EdgeText]:
        """The next of them."""
        return due_edges(self._graph, self._wanted, after=after, limit=limit)

    def count(self) -> int:
        """How many."""
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[EdgeText]) -> EmbeddedEdges:
        """Embed as much of each text as the model takes.

        Raises:
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            RejectedText: one of the texts is refused.
        """
        embedder = self.model.opened.embedder()
        vectors = self.model.embed([fitting(embedder, each.text) for each in items])
        return list(zip(items, vectors, strict=True))

    def characters(self, items: Sequence[EdgeText]) -> int:
        """How long their texts are together."""
        return sum(len(each.text) for each in items)

    def write(self, tx: Transaction, batch: EmbeddedEdges) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        return write_edge_vectors(tx, self._plan, batch)

    def reject(self, tx: Transaction, item: EdgeText, reason: str) -> None:
        """Mark one that the model does not take."""
        plan, texts = self._plan, {"identity": item.edge_id, "text_hash": item.text_hash}
        reject(tx, plan.space.at(""), plan.mark, **texts, reason=reason)
