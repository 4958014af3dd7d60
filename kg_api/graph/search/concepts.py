"""The lanes of a search for concepts: one statement, one round trip each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Row
from kg_api.graph.spaces.registry import Space
from kg_api.models.concepts.queries import Concept
from kg_api.models.embedding.spaces import FIRST_SLUG

WORDS_INDEX = "concept_words"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vector in one space, and the ontologies whose concepts it is compared with."""

    space: Space
    vector: NDArray[np.float32]
    """Shape (dimensions,), length 1."""
    ontologies: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConceptLaneHit:
    """What one lane found. The lane's list is in its own order, the best first."""

    concept: Concept
    similarity: float | None
    """Cosine of question and concept; none without a vector."""
    without_vector: bool = False
    """It has no vector that the question's could be compared with."""


def concepts_by_vector(graph: Graph, meaning: Meaning, limit: int) -> list[ConceptLaneHit]:
    """The concepts nearest to a vector; the filter runs inside the index."""
    rows = graph.read(
        "concepts/search_by_vector",
        meaning.space.slug,
        vector=Vector.from_numpy(meaning.vector),
        ontologies=list(meaning.ontologies),
        property=meaning.space.at("").vector_property,
        limit=limit,
    )
    return [_to_hit(row) for row in rows]


def concepts_by_text(
    graph: Graph, queries: Iterable[str], meanings: Sequence[Meaning], limit: int
) -> list[ConceptLaneHit]:
    """The concepts that full-text queries find, in Lucene syntax with filters inside."""
    asked = _to_parameters(meanings)
    rows = [
        row
        for query in queries
        for row in graph.read("concepts/search_by_text", query=query, limit=limit, **asked)
    ]
    best_first = sorted(rows, key=lambda row: (-row["score"], row["concept_id"]))
    return [_to_hit(row) for row in best_first[:limit]]


def concepts_by_name(
    graph: Graph, name_ids: Sequence[str], meanings: Sequence[Meaning], limit: int
) -> list[ConceptLaneHit]:
    """The concepts that go by one of some names exactly, those of most sources first."""
    asked = _to_parameters(meanings)
    rows = graph.read("concepts/search_by_name", name_ids=list(name_ids), limit=limit, **asked)
    return [_to_hit(row) for row in rows]


def nearness_of_concepts(
    graph: Graph, concept_ids: Sequence[str], meanings: Sequence[Meaning]
) -> dict[str, float]:
    """By id the cosine of a question and some concepts; one without a vector is missing."""
    asked = _to_parameters(meanings)
    rows = graph.read("constructive/nearness_of_concepts", ids=list(concept_ids), **asked)
    return {row["concept_id"]: row["similarity"] for row in rows}


def has_concepts(graph: Graph, ontologies: Sequence[str]) -> bool:
    """Whether some ontologies have a concept at all."""
    return bool(graph.read("concepts/any_of", ontologies=list(ontologies)))


def _to_parameters(meanings: Sequence[Meaning]) -> Mapping[str, Any]:
    """As statements take it: by space its vector and property, and which ontologies are not in the first."""
    return {
        "vectors": {each.space.slug: Vector.from_numpy(each.vector) for each in meanings},
        "properties": {each.space.slug: each.space.at("").vector_property for each in meanings},
        "spaces": {
            name: each.space.slug
            for each in meanings
            if each.space.slug != FIRST_SLUG
            for name in each.ontologies
        },
    }


def _to_hit(row: Row) -> ConceptLaneHit:
    missing = bool(row.get("without_vector"))
    return ConceptLaneHit(Concept.model_validate(row), row["similarity"], missing)
