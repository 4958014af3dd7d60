"""The lane of concepts: from the question and its best passages over concepts to further sources.

What a question needs may stand in a passage that says nothing of the question's words: the best hit names
somebody, and another passage says who that is. The lane begins with the concepts that the question names or
is near to, and with those of the best hits, and follows appearances and one relationship (ADR 0023 has the
measurements; the spreading of weight is that of Gutiérrez et al., HippoRAG, 2024, cut off after one hop).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.concepts.asking import EMBEDDING, EXTRACTION, none_yet, under_way
from kg_api.concepts.wanted import start_embedding
from kg_api.graph.carried import Seed, SeedPassage, Seeds, by_concepts
from kg_api.graph.concept_lanes import (
    FoundConcept,
    Meaning,
    concepts_by_name,
    concepts_by_vector,
)
from kg_api.graph.database import Graph
from kg_api.graph.passages import Filters, Found
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.models.identity import concept_name, name_id
from kg_api.models.search import Degradation
from kg_api.models.spaces import USUAL, Contrast
from kg_api.search.asking import Question
from kg_api.spaces.plans import PlanWatch

NAMED = 1.0
"""Weight of a concept that the question names."""
PASSAGE = 2.0
"""Weight of the best hit, shared among its concepts by the root of their number: each of four counts as
a named one."""
BEST_PASSAGES = 2
NEAREST = 5
"""Concepts near to the question in meaning."""
MOST_NAMED = 20
LONGEST_NAME = 6
"""Words of a name that is looked for in the question."""
SHORTEST_NAME = 3
"""Characters."""
MOST_WORDS = 100
"""Words of the question whose combinations are looked up as names."""
MOST_NAMES = 5000
"""Names that are looked up, of all ontologies together."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What the lane found."""

    found: list[Found] = field(default_factory=list[Found])
    degraded: list[Degradation] = field(default_factory=list[Degradation])


@dataclass(frozen=True, slots=True)
class OwnConcepts:
    """The concepts of a question."""

    seeds: list[Seed] = field(default_factory=list[Seed])
    degraded: list[Degradation] = field(default_factory=list[Degradation])


class ConceptLane:
    """Finds sources through concepts."""

    def __init__(self, graph: Graph, indexes: IndexWatch, plans: PlanWatch) -> None:
        self._graph = graph
        self._plans = plans
        self._indexes = indexes
        self._extraction = EmbeddingWatch(graph, "concept_extraction")
        self._embedding = EmbeddingWatch(graph, "concept_embedding")

    def run(self, question: Question, own: OwnConcepts, best: Sequence[Found], limit: int) -> Carried:
        """Find sources.

        Args:
            question: with its vectors.
            own: the concepts of the question.
            best: what vectors and words found, the best first; empty: from the question's own concepts.
            limit: most sources.
        """
        passages = [
            SeedPassage(found.place.source_id, PASSAGE / math.sqrt(rank))
            for rank, found in enumerate(best[:BEST_PASSAGES], start=1)
        ]
        start = Seeds(own.seeds, passages)
        found = by_concepts(self._graph, start, _within(question), question.space_vectors, limit)
        untold = [] if found else none_yet(self._graph, question.scope.names)
        return Carried(found, [*own.degraded, *untold])

    def own(self, question: Question) -> OwnConcepts:
        """The concepts that the question names or is near to; asked beside the other lanes."""
        meanings = meanings_of(question)
        told = [
            *under_way(self._extraction.read(), question.scope.names, EXTRACTION),
            *under_way(self._embedding.read(), question.scope.names, EMBEDDING),
        ]
        if meanings:
            names = question.scope.names
            told += start_embedding(self._graph, self._plans.known(names), names)
        waiting = self._indexes.populating(*(each.space.concept_index_name for each in meanings))
        weights: dict[str, float] = {}
        for each in meanings:
            if each.space.concept_index_name not in waiting:
                for near in concepts_by_vector(self._graph, each, NEAREST):
                    weights[near.concept.concept_id] = _weight(near, each.space.contrast or USUAL)
        for named in self._named(question):
            weights[named.concept.concept_id] = NAMED
        told += [
            Degradation(part="concepts", effect=f"the index {name} is {state}: looked for by name only")
            for name, state in waiting.items()
        ]
        return OwnConcepts([Seed(*each) for each in weights.items() if each[1] > 0], told)

    def _named(self, question: Question) -> list[FoundConcept]:
        names = list(names_in(question.query.text))
        ids = [name_id(ontology, name) for ontology in question.scope.names for name in names][:MOST_NAMES]
        found = concepts_by_name(self._graph, ids, [], MOST_NAMED) if ids else []
        labels = [f" {concept_name(each.concept.label)} " for each in found]
        return [
            each
            for each, own in zip(found, labels, strict=True)
            if not any(own != other and own in other for other in labels)
        ]


def meanings_of(question: Question) -> list[Meaning]:
    """The question's vectors with the ontologies whose concepts they are compared with."""
    return [
        Meaning(vector.space, vector.vector, question.scope.ontologies[vector.space.slug])
        for vector in question.vectors
        if vector.vector is not None
    ]


def names_in(text: str) -> Iterator[str]:
    """What may be the name of a concept in a question: up to six words in a row, the longest first."""
    words = concept_name(text).split()[:MOST_WORDS]
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            name = " ".join(words[at : at + length])
            if len(name) >= SHORTEST_NAME:
                yield name


def _weight(near: FoundConcept, contrast: Contrast) -> float:
    """From 0 for what is as far as unrelated texts are from related ones, half way; at most a named one's."""
    return min(max(((near.similarity or 0) - contrast.middle) / (2 * contrast.gap), 0), NAMED)


def _within(question: Question) -> Filters:
    filters = question.query.filters
    return Filters(question.scope.names, filters.document_ids)
