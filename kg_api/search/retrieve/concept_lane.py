"""The lane of concepts: from the question and its best passages over concepts to further sources.

What a question needs may stand in a passage that says nothing of the question's words: the best hit names
somebody, and another passage says who that is. The lane begins with the concepts that the question names or
is near to, and with those of the best hits, goes on to what is near to these in meaning, and follows
appearances and one relationship (ADRs 0023 and 0078 have the measurements; the spreading of weight is that of
Gutiérrez et al., HippoRAG, 2024, cut off after one hop).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from kg_api.concepts.asking import EMBEDDING, EXTRACTION, none_yet, under_way
from kg_api.concepts.wanted import start_embedding
from kg_api.graph.concepts.vectors import least_near
from kg_api.graph.database import Graph
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.carried import ConceptNearness, Seed, SeedPassage, by_concepts
from kg_api.graph.search.concepts import (
    ConceptLaneHit,
    Meaning,
    by_name,
    by_vector,
    look_up_concepts,
)
from kg_api.graph.search.passages import Filters, LaneHit
from kg_api.models.embedding.spaces import USUAL, SimilarityCalibration
from kg_api.models.identity import concept_name, name_id
from kg_api.models.queries.search import Degradation
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.named import is_named_within, is_unspaced, names_in

NAMED = 1.0
"""Weight of a concept that the question names."""
PASSAGE = 2.0
"""Weight of the best hit, shared among its concepts by the root of their number: each of four counts as
a named one."""
BEST_PASSAGES = 3
NEAREST = 5
"""Concepts near to the question in meaning."""
MAX_NAMED = 20
MAX_NAMES = 5000
"""Names that are looked up, of all ontologies together."""
USUAL_WORDS = 2
"""Most names of concepts have one to three."""
TOO_MANY = (
    "the question has too many words for so many ontologies: some of what it may name was not looked for by "
    "name; ask a shorter one, or name ontologies"
)


class ConceptLane:
    """Finds sources through concepts: it goes on from what the other lanes found."""

    def __init__(self, graph: Graph, indexes: IndexWatch) -> None:
        self._graph = graph
        self._indexes = indexes
        self._extraction = EmbeddingWatch(graph, "concept_extraction")
        self._embedding = EmbeddingWatch(graph, "concept_embedding")

    def retrieve(self, plan: SearchPlan, seeds: Sequence[Seed], best: Sequence[LaneHit]) -> list[LaneHit]:
        """Find as many sources as the plan is deep.

        Args:
            plan: where to look, and the question's vectors.
            seeds: the concepts of the question.
            best: what vectors and words found, the best first; empty: from the question's own concepts. They
                lead on from a question without spaces only if it names a concept itself.
        """
        if best and not seeds and is_unspaced(plan.text):
            return []
        passages = [
            SeedPassage(found.source.source_id, PASSAGE / math.sqrt(rank))
            for rank, found in enumerate(best[:BEST_PASSAGES], start=1)
            if not plan.image  # nobody looks for the picture of what another picture's words mention
        ]
        within = Filters(plan.scope.names, plan.filters.document_ids, plan.filters.sources)
        near = [*self._nearness(plan)]
        asked = plan.space_vectors
        found = by_concepts(self._graph, seeds, passages, within, asked, limit=plan.depth, nearness=near)
        plan.notes.record("concepts", [] if found else none_yet(self._graph, plan.scope.names))
        return found

    def _nearness(self, plan: SearchPlan) -> Iterator[ConceptNearness]:
        """Whose vectors tell what is near to the concepts that the walk begins with."""
        models = plan.scope.models
        waiting = self._indexes.populating(*(space.concept_index_name for space in models))
        for space in models:
            if space.concept_index_name not in waiting:
                yield ConceptNearness(space, plan.scope.ontologies[space.slug], least_near(space))

    def seeds(self, plan: SearchPlan) -> list[Seed]:
        """The concepts that the question names or is near to; asked beside the other lanes.

        One without spaces goes by those that it names: to a model that does not know its language, as the
        default one, all concepts are near (adr/0083). Where concepts alone are asked, it may name none.
        """
        meanings, names = meanings_of(plan), plan.scope.names
        told = [
            *under_way(self._extraction.read(), names, EXTRACTION),
            *under_way(self._embedding.read(), names, EMBEDDING),
            *(start_embedding(self._graph, plan.known, names) if meanings or plan.request.graph else ()),
        ]
        spaces = plan.scope.models if plan.request.graph else [each.space for each in meanings]
        waiting = self._indexes.populating(*(space.concept_index_name for space in spaces))
        usable = [each for each in meanings if each.space.concept_index_name not in waiting]
        named = list(names_in(plan.text))
        weights = self._find_seeds(plan, named, usable)
        effects = [f"the index {name} is {state}: looked for by name only" for name, state in waiting.items()]
        if _too_many(named, names):
            effects.append(TOO_MANY)
        told += [Degradation(part="concepts", effect=effect) for effect in effects]
        plan.notes.record("seeds", told)
        return [Seed(*each) for each in weights.items() if each[1] > 0]

    def _find_seeds(
        self, plan: SearchPlan, names: Sequence[str], meanings: Sequence[Meaning]
    ) -> dict[str, float]:
        """By id, the weights of what the question may call by these names, and of what is near to it."""
        ids = list(_name_ids(names, plan.scope.names))
        unspaced = is_unspaced(plan.text)
        asked = () if unspaced and not plan.concepts_alone else meanings
        lookups = [by_name(ids, [], MAX_NAMED), *(by_vector(each, NEAREST) for each in asked)]
        found, *nearest = look_up_concepts(self._graph, lookups)
        named = {each.concept.concept_id: NAMED for each in _longest(found)}
        if unspaced and named:
            return named
        near = {
            hit.concept.concept_id: _weight(hit, each.space.calibration or USUAL)
            for each, hits in zip(asked, nearest, strict=True)
            for hit in hits
        }
        return near | named


def _too_many(names: Sequence[str], ontologies: Sequence[str]) -> bool:
    return len(names) * len(ontologies) > MAX_NAMES


def _name_ids(names: Sequence[str], ontologies: Sequence[str]) -> Iterator[str]:
    """Of each name in each ontology; of too many those that most concepts are called by, alike everywhere."""
    if _too_many(names, ontologies):
        names = sorted(names, key=lambda name: abs(len(name.split()) - USUAL_WORDS))
    each = ((name, ontology) for name in names for ontology in ontologies)
    return (name_id(ontology, name) for name, ontology in islice(each, MAX_NAMES))


def _longest(named: Sequence[ConceptLaneHit]) -> Iterator[ConceptLaneHit]:
    """Without those whose name stands within that of another."""
    labels = [concept_name(each.concept.label) for each in named]
    for each, own in zip(named, labels, strict=True):
        if not any(is_named_within(own, other) for other in labels):
            yield each


def meanings_of(plan: SearchPlan) -> list[Meaning]:
    """The question's vectors with the ontologies whose concepts they are compared with."""
    return [
        Meaning(vector.space, vector.vector, plan.scope.ontologies[vector.space.slug])
        for vector in plan.vectors
        if vector.vector is not None
    ]


def _weight(near: ConceptLaneHit, calibration: SimilarityCalibration) -> float:
    """From 0 for what is as far as unrelated texts are from related ones, half way; at most a named one's."""
    return min(max(((near.similarity or 0) - calibration.middle) / (2 * calibration.gap), 0), NAMED)
