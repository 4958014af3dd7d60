"""The tools of concepts: finding them, what proves them, where they stand, and how they hang together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kg_api.concepts.asking import EMBEDDING, EXTRACTION, none_yet, question, under_way
from kg_api.concepts.network.ends import CANDIDATES, both_ends
from kg_api.concepts.network.paths import PathFinder
from kg_api.concepts.network.surroundings import find_related, neighbourhood
from kg_api.concepts.passages import merge_passages
from kg_api.concepts.relations.grounding import ground
from kg_api.concepts.search import find_concepts
from kg_api.concepts.wanted import start_embedding
from kg_api.graph.concepts.reads import (
    appearances,
    count_evidence,
    evidence_of,
    find_concept,
    page_of_concepts,
    read_unverified,
)
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import neighbours
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.concepts import WORDS_INDEX
from kg_api.models.concepts.details import ConceptDetails
from kg_api.models.concepts.queries import (
    Concept,
    ConceptContext,
    ConceptHit,
    ConceptHits,
    ConceptList,
    ConceptPaths,
    Neighbourhood,
    RelatedConcepts,
    none_fits,
)
from kg_api.models.queries.search import Degradation
from kg_api.spaces.plans import PlanWatch, read_embedding_state
from kg_api.spaces.registry import SpaceRegistry

SHOWN = 20
"""Quotes, and related concepts, that details show."""


class ConceptService:
    """Reads concepts. Thread-safe; one a process."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._plans = PlanWatch(graph)
        self._indexes = IndexWatch(graph)
        self._extraction = EmbeddingWatch(graph, "concept_extraction")
        self._embedding = EmbeddingWatch(graph, "concept_embedding")

    def search(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        """Find concepts by meaning, words and name. What could not be done is told in `degraded`.

        Raises:
            Unavailable: no index of concepts is online.
        """
        known = self._plans.known(ontologies or (), new_too=ontologies is None)
        asked = question(query_text, ontologies, known, self._spaces)
        names = (each.space.concept_index_name for each in asked.meanings)
        found = find_concepts(
            self._graph,
            query_text,
            asked.meanings,
            asked.ontologies,
            limit,
            populating=self._indexes.populating(WORDS_INDEX, *names),
        )
        started = start_embedding(self._graph, known, asked.ontologies) if asked.meanings else []
        return ConceptHits(
            query_text=query_text,
            concepts=found.concepts,
            degraded=[*asked.degraded, *self._degradations(found.degraded, asked.ontologies, started)],
            note=none_fits(query_text, found.concepts),
        )

    def details(self, concept_id: str, shown: int = SHOWN) -> ConceptDetails:
        """A concept with quotes that prove it and what it is related to.

        Raises:
            NotFound: there is none by that id.
        """
        concept = find_concept(self._graph, concept_id)
        evidence = evidence_of(self._graph, concept.concept_id, shown)
        around = find_related(self._graph, concept, 1, shown)
        quotes = count_evidence(self._graph, concept.concept_id)
        unverified, total = read_unverified(self._graph, concept.concept_id, shown)
        return ConceptDetails(
            **concept.model_dump(),
            evidence=evidence,
            more_evidence=max(0, quotes - len(evidence)),
            unverified=unverified,
            more_unverified=max(0, total - len(unverified)),
            related=around.related,
            more_related=around.more_related,
            grounding=ground(self._graph, concept, shown),
        )

    def context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        """The sources that carry a concept, each among its neighbours of the same document.

        Args:
            concept_id: of the concept.
            window: how many paragraphs before and after; windows that touch are one passage.
            limit: most sources that carry it, those with a true quote first.

        Raises:
            NotFound: there is none by that id.
        """
        concept = find_concept(self._graph, concept_id)
        found = appearances(self._graph, concept.concept_id, limit)
        around = neighbours(self._graph, [each.place for each in found], window)
        return ConceptContext(
            concept=concept,
            window_size=window,
            passages=merge_passages(found, around),
            more_passages=max(0, concept.sources - len(found)),
        )

    def related(self, concept_id: str, hops: int, limit: int) -> RelatedConcepts:
        """What a concept is related to within some hops.

        Raises:
            NotFound: there is none by that id.
        """
        return find_related(self._graph, find_concept(self._graph, concept_id), hops, limit)

    def neighbourhood(self, concept_id: str, limit: int) -> Neighbourhood:
        """The concepts around one, as nodes and edges.

        Raises:
            NotFound: there is none by that id.
        """
        return neighbourhood(self._graph, find_concept(self._graph, concept_id), limit)

    def paths(
        self, start: str, end: str, ontologies: Sequence[str] | None, hops: int, limit: int
    ) -> ConceptPaths:
        """The shortest ways between two concepts, given by id, name or phrase; `start` and `end` say which.

        Raises:
            NotFound: no concept fits one of them, or has its id.
            InvalidInput: they are of two ontologies.
        """
        ends = both_ends(start, end, ontologies, partial(find_concept, self._graph), self._candidates)
        finder = PathFinder(self._graph, hops, limit)
        paths = finder.paths(ends.start, ends.end)
        return ConceptPaths(
            start=Concept(**ends.start.model_dump()),
            end=Concept(**ends.end.model_dump()),
            paths=paths,
            hops=hops,
            degraded=[*ends.degraded, *finder.degraded],
        )

    def page(self, ontology: str, offset: int, limit: int) -> ConceptList:
        """Some of an ontology's concepts, those of most sources first; `notes` say when more are to come.

        Raises:
            NotFound: there is no such ontology.
        """
        read_embedding_state(self._graph, ontology)
        concepts, total = page_of_concepts(self._graph, ontology, offset, limit)
        due = [
            *(() if total else none_yet(self._graph, [ontology])),
            *under_way(self._extraction.read(), [ontology], EXTRACTION),
        ]
        notes = [each.effect for each in due]
        return ConceptList(concepts=concepts, total=total, offset=offset, limit=limit, notes=notes)

    def _degradations(
        self, found: Sequence[Degradation], ontologies: Sequence[str], started: Sequence[Degradation]
    ) -> list[Degradation]:
        """Of vectors that are missing one note: that it was started, else that it goes on, else how many."""
        extraction = under_way(self._extraction.read(), ontologies, EXTRACTION)
        embedding = started or under_way(self._embedding.read(), ontologies, EMBEDDING)
        others = [each for each in found if not (embedding and each.part == "vectors")]
        return [*others, *extraction, *embedding]

    def _candidates(self, text: str, ontologies: Sequence[str] | None) -> Sequence[ConceptHit]:
        return self.search(text, ontologies, CANDIDATES).concepts
