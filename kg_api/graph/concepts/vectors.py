"""Vectors of concepts: what is to be embedded, and writing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Row, Transaction, portions
from kg_api.graph.spaces.chunks import require_fitting
from kg_api.graph.spaces.due import DueText, Wanted, due_in_order
from kg_api.graph.spaces.marks import Mark, mark_of_model
from kg_api.graph.spaces.registry import Space
from kg_api.graph.statements import FIRST_MARK
from kg_api.models.identity import concept_text
from kg_api.models.library.documents import ConceptCounts
from kg_api.models.vocabulary import Selection


@dataclass(frozen=True, slots=True)
class ConceptPlan:
    """How the concepts of an ontology shall be embedded: in a space, whatever its chunking."""

    ontology: str
    space: Space
    answering: Space
    """What answers searches, which may be another space than is being built."""
    wants_all: bool = True
    """Whether those of a single source are embedded too that never were."""

    @property
    def mark(self) -> Mark:
        """Of a concept that is embedded so."""
        return mark_of_model("Concept", "concept", self.space.at(""))

    def wanted(self, selection: Selection = "due", forced_at: object = None) -> Wanted:
        """The concepts that are to be embedded by it."""
        answering = self.answering.at("").mark_property
        return Wanted(self.ontology, self.mark, answering, selection, forced_at, wants_all=self.wants_all)


def due_concepts(graph: Graph, wanted: Wanted, *, after: str, limit: int) -> list[DueText]:
    """The next concepts that are not embedded as they shall be; see `due_in_order`."""
    return [_concept(row) for row in due_in_order(graph, wanted, after=after, limit=limit)]


def sample_of_concepts(graph: Graph, ontology: str, limit: int) -> list[DueText]:
    """Some concepts of an ontology."""
    return [_concept(row) for row in graph.read("concepts/sample", ontology=ontology, limit=limit)]


def concepts_before(graph: Graph, plan: ConceptPlan, last: str, limit: int) -> list[str]:
    """Ids of the last concepts up to one that are embedded."""
    mark = plan.mark.parameters()
    rows = graph.read("concepts/before", ontology=plan.ontology, **mark, last=last, limit=limit)
    return [row["concept_id"] for row in rows]


def count_concepts(graph: Graph, plans: Sequence[ConceptPlan]) -> ConceptCounts:
    """How many concepts of some ontologies have the vector they should have."""
    row = graph.read("concepts/count_embedded", plans=[plan.wanted().parameters() for plan in plans])[0]
    stale = row["total"] - row["embedded"] - row["refused"] - row["missing"] - row["deferred"]
    return ConceptCounts(**row, stale=stale)


def want_concepts(tx: Transaction, ontology: str) -> bool:
    """Have those of a single source embedded too, from now on; whether they were not before."""
    return bool(tx.run("concepts/want", ontology=ontology))


def has_concepts(tx: Transaction, ontology: str) -> bool:
    """Whether an ontology has any concept."""
    return bool(tx.run("concepts/sample", ontology=ontology, limit=1))


def count_fresh(tx: Transaction, concept_ids: Iterable[str], *, wants_all: bool) -> int:
    """How many of some concepts have another text than was embedded, in whatever space, and are due."""
    counted = (
        tx.run("concepts/count_fresh", ids=ids, marks=FIRST_MARK, wants_all=wants_all)
        for ids in portions(sorted(concept_ids))
    )
    return sum(row["fresh"] for rows in counted for row in rows)


def write_concept_vectors(
    tx: Transaction, plan: ConceptPlan, vectors: Sequence[tuple[DueText, NDArray[np.float32]]]
) -> list[str]:
    """Write within the caller's transaction the vectors of concepts whose text is still the same.

    Args:
        tx: the transaction.
        plan: how they were embedded.
        vectors: by concept, in the order of their ids; shape (dimensions,).

    Returns:
        Ids of the concepts that are done; the others stay due.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_fitting(tx, plan.space, (vector for _, vector in vectors))
    rows = [
        {"concept_id": each.identity, "text_hash": each.text_hash, "vector": Vector.from_numpy(vector)}
        for each, vector in vectors
    ]
    where = {"ontology": plan.ontology, "property": plan.space.at("").vector_property}
    written = tx.run("concepts/write_vectors", rows=rows, **where, **plan.mark.parameters())
    return [row["concept_id"] for row in written]


def _concept(row: Row) -> DueText:
    text = concept_text(row["label"], row["description"], row["search_terms"])
    return DueText(row["concept_id"], text, row["text_hash"])
