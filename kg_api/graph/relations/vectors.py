"""Vectors of relationships and of their types: what is to be embedded, and writing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.relations.rows import edge_text
from kg_api.graph.spaces.chunks import require_fitting
from kg_api.graph.spaces.due import DueText, Wanted, due_in_order
from kg_api.graph.spaces.marks import Mark, mark_of_model
from kg_api.graph.spaces.registry import Space
from kg_api.models.library.documents import EdgeCounts
from kg_api.models.vocabulary import Selection

EdgeLabel = Literal["RELATED_TO", "RelationType"]
"""A relationship is embedded by what it says, a type by its name."""


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """How the relationships of an ontology shall be embedded, or their types: in a space of texts."""

    ontology: str
    space: Space
    answering: Space
    """What answers searches, which may be another space than is being built."""
    label: EdgeLabel

    @property
    def mark(self) -> Mark:
        """Of one that is embedded so."""
        return mark_of_model(self.label, "edge", self.space.at(""))

    def wanted(self, selection: Selection = "due", forced_at: object = None) -> Wanted:
        """Those that are to be embedded by it."""
        answering = self.answering.at("").mark_property
        return Wanted(self.ontology, self.mark, answering, selection, forced_at)


def due_edges(graph: Graph, wanted: Wanted, *, after: str, limit: int) -> list[DueText]:
    """The next that are not embedded as they shall be; see `due_in_order`."""
    return [_edge(row) for row in due_in_order(graph, wanted, after=after, limit=limit)]


def sample_of_edges(graph: Graph, ontology: str, limit: int) -> list[DueText]:
    return [_edge(row) for row in graph.read("relations/sample", ontology=ontology, limit=limit)]


def count_edges(graph: Graph, plans: Sequence[EdgePlan]) -> EdgeCounts:
    """How many relationships of some ontologies have the vector they should have; types are not counted."""
    own = [plan.wanted().parameters() for plan in plans if plan.label == "RELATED_TO"]
    row = graph.read("relations/count_embedded", plans=own)[0]
    return EdgeCounts(**row, stale=row["total"] - row["embedded"] - row["refused"] - row["missing"])


def write_edge_vectors(
    tx: Transaction, plan: EdgePlan, vectors: Sequence[tuple[DueText, NDArray[np.float32]]]
) -> int:
    """Write within the caller's transaction the vectors of those whose text is still the same.

    Args:
        tx: the transaction.
        plan: how they were embedded.
        vectors: in the order of their ids; shape (dimensions,).

    Returns:
        How many are done; the others stay due.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_fitting(tx, plan.space, (vector for _, vector in vectors))
    rows = [
        {"id": each.identity, "text_hash": each.text_hash, "vector": Vector.from_numpy(vector)}
        for each, vector in vectors
    ]
    given = {**plan.mark.parameters(), "property": plan.space.at("").vector_property}
    del given["label"], given["refused"]
    if plan.label == "RELATED_TO":
        return tx.run("relations/write_vectors", rows=rows, **given)[0]["written"]
    return tx.run("relations/write_type_vectors", rows=rows, **given)[0]["written"]


def _edge(row: Row) -> DueText:
    if row["relation_id"] is not None:
        return DueText(row["relation_id"], edge_text(row["statement"], row["quote"]), row["text_hash"])
    return DueText(row["type_id"], row["name"], row["text_hash"])
