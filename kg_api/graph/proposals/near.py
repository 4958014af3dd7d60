"""What is near to concepts by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space


@dataclass(frozen=True, slots=True)
class ConceptName:
    """What a concept is called."""

    id: str
    label: str
    terms: tuple[str, ...]
    text_hash: str

    @property
    def words(self) -> str:
        """All its names."""
        return " ".join((self.label, *self.terms))


def near_concepts(
    graph: Graph, space: Space, ontology: str, concept_ids: Sequence[str], limit: int
) -> list[tuple[ConceptName, ConceptName, float]]:
    """What is nearest to some concepts of their ontology, with the cosines, the nearest first for each."""
    rows = graph.read(
        "proposals/near_concepts",
        space.slug,
        ids=list(concept_ids),
        ontology=ontology,
        property=space.at("").vector_property,
        limit=limit + 1,
    )
    return [
        (
            ConceptName(row["id"], row["label"], tuple(row["terms"]), row["text_hash"]),
            ConceptName(row["near_id"], row["near_label"], tuple(row["near_terms"]), row["near_text_hash"]),
            row["similarity"],
        )
        for row in rows
    ]
