"""Vectors of concepts: what is to be embedded, and writing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.chunks import check_vector, require_writable
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.spaces import Space
from kg_api.graph.statements import FIRST_MARK
from kg_api.models.documents import ConceptCounts
from kg_api.models.identity import concept_text, digest
from kg_api.models.jobs import Selection

MARK_DIGITS = 16
MOST_COUNTED = 2000


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
    def mark(self) -> str:
        """What the mark of a concept begins with that is embedded so; the hash of its text is behind it."""
        return digest("concept mark", self.space.fingerprint)[:MARK_DIGITS]

    def parameters(self) -> dict[str, Any]:
        """As statements take it."""
        return {
            "ontology": self.ontology,
            **self.mark_parameters(),
            "answering_property": self.answering.at("").mark_property,
            "wants_all": self.wants_all,
        }

    def mark_parameters(self) -> dict[str, str]:
        """The property of a concept that says how it is embedded, and its values."""
        return {
            "mark_property": self.space.at("").mark_property,
            "mark": self.mark,
            "refused": f"refused:{self.mark}",
        }


@dataclass(frozen=True, slots=True)
class ConceptsWanted:
    """Which concepts are to be embedded."""

    plan: ConceptPlan
    selection: Selection = "due"
    forced_at: Any = None
    """Database time; what was embedded before it is embedded anew."""

    def parameters(self) -> dict[str, Any]:
        """As statements take it."""
        return {
            **self.plan.parameters(),
            "time_property": self.plan.space.at("").time_property,
            "selection": self.selection,
            "forced_at": self.forced_at,
        }


@dataclass(frozen=True, slots=True)
class ConceptText:
    """A concept and the text of it that is embedded."""

    concept_id: str
    text: str
    text_hash: str


def due_concepts(graph: Graph, wanted: ConceptsWanted, *, after: str, limit: int) -> list[ConceptText]:
    """The next concepts that are not embedded as they shall be, in the order of their ids.

    Args:
        graph: where they are.
        wanted: which.
        after: the id of the last one that was looked at; "" at the beginning.
        limit: most of them.
    """
    rows = graph.read("concepts/due", **wanted.parameters(), after=after, limit=limit)
    return [_concept(row) for row in rows]


def sample_of_concepts(graph: Graph, ontology: str, limit: int) -> list[ConceptText]:
    """Some concepts of an ontology."""
    return [_concept(row) for row in graph.read("concepts/sample", ontology=ontology, limit=limit)]


def count_due_concepts(graph: Graph, wanted: ConceptsWanted) -> int:
    """How many concepts are not embedded as they shall be."""
    return graph.read("concepts/count_due", **wanted.parameters())[0]["due"]


def concepts_before(graph: Graph, plan: ConceptPlan, last: str, limit: int) -> list[str]:
    """Ids of the last concepts up to one that are embedded."""
    marked = {"mark_property": plan.space.at("").mark_property, "mark": plan.mark}
    rows = graph.read("concepts/before", ontology=plan.ontology, **marked, last=last, limit=limit)
    return [row["concept_id"] for row in rows]


def count_concepts(graph: Graph, plans: Sequence[ConceptPlan]) -> ConceptCounts:
    """How many concepts of some ontologies have the vector they should have."""
    row = graph.read("concepts/count_embedded", plans=[plan.parameters() for plan in plans])[0]
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
    ids = sorted(concept_ids)
    rows = [
        row
        for at in range(0, len(ids), MOST_COUNTED)
        for row in tx.run(
            "concepts/count_fresh", ids=ids[at : at + MOST_COUNTED], marks=FIRST_MARK, wants_all=wants_all
        )
    ]
    return sum(row["fresh"] for row in rows)


def concepts_behind(tx: Transaction, plan: ConceptPlan) -> int:
    """How many concepts answer now, and would not in the space that is being built."""
    return tx.run("concepts/count_behind", **plan.parameters())[0]["behind"]


def write_concept_vectors(
    tx: Transaction,
    plan: ConceptPlan,
    concepts: Sequence[ConceptText],
    vectors: Mapping[str, NDArray[np.float32]],
) -> list[str]:
    """Write within the caller's transaction the vectors of concepts whose text is still the same.

    Args:
        tx: the transaction.
        plan: how they were embedded.
        concepts: in the order of their ids.
        vectors: by concept; shape (dimensions,).

    Returns:
        Ids of the concepts that are done; the others stay due.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_writable(tx, plan.space)
    for vector in vectors.values():
        check_vector(vector, plan.space.dimensions)
    rows = [
        {
            "concept_id": each.concept_id,
            "text_hash": each.text_hash,
            "vector": Vector.from_numpy(vectors[each.concept_id]),
        }
        for each in concepts
    ]
    space = plan.space.at("")
    written = tx.run(
        "concepts/write_vectors",
        rows=rows,
        ontology=plan.ontology,
        property=space.vector_property,
        mark_property=space.mark_property,
        mark=plan.mark,
        time_property=space.time_property,
        refusal_property=space.refusal_property,
    )
    return [row["concept_id"] for row in written]


def set_concept_aside(tx: Transaction, plan: ConceptPlan, concept: ConceptText, reason: str) -> None:
    """Mark a concept whose text the model does not take, unless it has changed.

    Raises:
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_writable(tx, plan.space)
    space = plan.space.at("")
    tx.run(
        "concepts/refuse",
        concept_id=concept.concept_id,
        text_hash=concept.text_hash,
        property=space.vector_property,
        mark_property=space.mark_property,
        refused=f"refused:{plan.mark}",
        time_property=space.time_property,
        refusal_property=space.refusal_property,
        reason=reason,
    )


def retry_refused_concepts(tx: Transaction, plan: ConceptPlan) -> int:
    """Let concepts that were set aside be tried again; how many."""
    space = plan.space.at("")
    names = {"mark_property": space.mark_property, "refusal_property": space.refusal_property}
    refused = f"refused:{plan.mark}"
    return tx.run("concepts/retry_refused", ontology=plan.ontology, **names, refused=refused)[0]["concepts"]


def _concept(row: Row) -> ConceptText:
    text = concept_text(row["label"], row["description"], row["search_terms"])
    return ConceptText(row["concept_id"], text, row["text_hash"])
