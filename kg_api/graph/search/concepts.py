"""The lanes of a search for concepts, asked in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Lookup, Row
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
    score: float = 0.0
    """Of the words."""


def by_vector(meaning: Meaning, limit: int) -> Lookup:
    """The concepts nearest to a vector; the filter runs inside the index."""
    parameters = {
        "vector": Vector.from_numpy(meaning.vector),
        "ontologies": list(meaning.ontologies),
        "property": meaning.space.at("").vector_property,
        "limit": limit,
    }
    return Lookup("concepts/search_by_vector", parameters, meaning.space.slug)


def by_text(query: str, meanings: Sequence[Meaning], limit: int) -> Lookup:
    """The concepts that a full-text query finds, in Lucene syntax with filters inside."""
    return Lookup("concepts/search_by_text", {"query": query, "limit": limit, **_to_parameters(meanings)})


def by_name(name_ids: Sequence[str], meanings: Sequence[Meaning], limit: int) -> Lookup:
    """The concepts that go by one of some names exactly, those of most sources first."""
    given = {"name_ids": list(name_ids), "limit": limit}
    return Lookup("concepts/search_by_name", {**given, **_to_parameters(meanings)})


def look_up_concepts(graph: Graph, lookups: Sequence[Lookup]) -> list[list[ConceptLaneHit]]:
    """What each finds, all in one round trip."""
    return [[_to_hit(row) for row in found] for found in graph.look_up(lookups)]


def concepts_by_text(
    graph: Graph, queries: Iterable[str], meanings: Sequence[Meaning], limit: int
) -> list[ConceptLaneHit]:
    """The best of what several full-text queries find."""
    return best_of(look_up_concepts(graph, [by_text(each, meanings, limit) for each in queries]), limit)


def best_of(found: Iterable[Iterable[ConceptLaneHit]], limit: int) -> list[ConceptLaneHit]:
    """What queries by words found, in one order."""
    every = [hit for each in found for hit in each]
    return sorted(every, key=lambda hit: (-hit.score, hit.concept.concept_id))[:limit]


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
    concept = Concept.model_validate(row)
    return ConceptLaneHit(concept, row["similarity"], bool(row.get("without_vector")), row.get("score", 0.0))
