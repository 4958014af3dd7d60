"""Concepts: found, proved, read in their places, and how they hang together."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.call import Call, params_of, path_of
from kg_api.client.sending import AsyncSending, Sending
from kg_api.errors import InvalidInput
from kg_api.models.concepts.queries import (
    ConceptContext,
    ConceptDetails,
    ConceptHits,
    ConceptList,
    ConceptPaths,
    Neighbourhood,
    RelatedConcepts,
)


def search_concepts(
    query_text: str,
    ontology: str | None = None,
    limit: int = 10,
    ontologies: Sequence[str] | None = None,
) -> Call[ConceptHits]:
    """Find concepts.

    Raises:
        InvalidInput: no ontology is left to search in.
    """
    several = None if ontologies is None else list(ontologies)
    if several == []:
        raise InvalidInput("ontologies is empty: leave it out to search in all")
    params = params_of(query_text=query_text, ontology=ontology, ontologies=several, limit=limit)
    return Call("GET", "/concepts/search", ConceptHits, params=params)


def concept(concept_id: str, limit: int = 20) -> Call[ConceptDetails]:
    """Read a concept."""
    return Call("GET", path_of("concepts", concept_id), ConceptDetails, params=params_of(limit=limit))


def concept_context(concept_id: str, window_size: int = 2, limit: int = 10) -> Call[ConceptContext]:
    """Read around the sources that carry a concept."""
    params = params_of(window_size=window_size, limit=limit)
    return Call("GET", path_of("concepts", concept_id, "context"), ConceptContext, params=params)


def related_concepts(concept_id: str, hops: int = 1, limit: int = 50) -> Call[RelatedConcepts]:
    """Find what a concept is related to."""
    params = params_of(hops=hops, limit=limit)
    return Call("GET", path_of("concepts", concept_id, "related"), RelatedConcepts, params=params)


def neighbourhood(concept_id: str, limit: int = 50) -> Call[Neighbourhood]:
    """Give the nodes and edges around a concept."""
    path = path_of("concepts", concept_id, "neighbourhood")
    return Call("GET", path, Neighbourhood, params=params_of(limit=limit))


def concept_paths(
    start: str, end: str, ontology: str | None = None, hops: int = 4, limit: int = 5
) -> Call[ConceptPaths]:
    """Connect two concepts."""
    params = params_of(to=end, ontology=ontology, hops=hops, limit=limit) | params_of(**{"from": start})
    return Call("GET", "/concepts/paths", ConceptPaths, params=params)


def concepts(ontology: str, offset: int = 0, limit: int = 100) -> Call[ConceptList]:
    """List the concepts of an ontology."""
    params = params_of(offset=offset, limit=limit)
    return Call("GET", path_of("ontologies", ontology, "concepts"), ConceptList, params=params)


class ConceptMethods(Sending):
    """Methods of the synchronous client."""

    def search_concepts(
        self,
        query_text: str,
        *,
        ontology: str | None = None,
        ontologies: Sequence[str] | None = None,
        limit: int = 10,
    ) -> ConceptHits:
        """Find concepts by meaning, by words and by name; one without `fits` is only the nearest there is."""
        return self._send(search_concepts(query_text, ontology, limit, ontologies))

    def concept(self, concept_id: str, *, limit: int = 20) -> ConceptDetails:
        """Read a concept with so many of the quotes that prove it, and of what it is related to."""
        return self._send(concept(concept_id, limit))

    def get_concept_context(
        self, concept_id: str, *, window_size: int = 2, limit: int = 10
    ) -> ConceptContext:
        """Read the sources that carry a concept, each among its neighbours of the same document."""
        return self._send(concept_context(concept_id, window_size, limit))

    def related_concepts(self, concept_id: str, *, hops: int = 1, limit: int = 50) -> RelatedConcepts:
        """Find what a concept is related to within some hops."""
        return self._send(related_concepts(concept_id, hops, limit))

    def neighbourhood(self, concept_id: str, *, limit: int = 50) -> Neighbourhood:
        """Give the concepts around one as nodes and edges."""
        return self._send(neighbourhood(concept_id, limit))

    def concept_paths(
        self, start: str, end: str, *, ontology: str | None = None, hops: int = 4, limit: int = 5
    ) -> ConceptPaths:
        """Find the shortest ways between two concepts, each given by id, name or phrase."""
        return self._send(concept_paths(start, end, ontology, hops, limit))

    def concepts(self, ontology: str, *, offset: int = 0, limit: int = 100) -> ConceptList:
        """List an ontology's concepts, those of most sources first, one page at a time."""
        return self._send(concepts(ontology, offset, limit))


class AsyncConceptMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def search_concepts(
        self,
        query_text: str,
        *,
        ontology: str | None = None,
        ontologies: Sequence[str] | None = None,
        limit: int = 10,
    ) -> ConceptHits:
        """Find concepts by meaning, by words and by name; one without `fits` is only the nearest there is."""
        return await self._send(search_concepts(query_text, ontology, limit, ontologies))

    async def concept(self, concept_id: str, *, limit: int = 20) -> ConceptDetails:
        """Read a concept with so many of the quotes that prove it, and of what it is related to."""
        return await self._send(concept(concept_id, limit))

    async def get_concept_context(
        self, concept_id: str, *, window_size: int = 2, limit: int = 10
    ) -> ConceptContext:
        """Read the sources that carry a concept, each among its neighbours of the same document."""
        return await self._send(concept_context(concept_id, window_size, limit))

    async def related_concepts(self, concept_id: str, *, hops: int = 1, limit: int = 50) -> RelatedConcepts:
        """Find what a concept is related to within some hops."""
        return await self._send(related_concepts(concept_id, hops, limit))

    async def neighbourhood(self, concept_id: str, *, limit: int = 50) -> Neighbourhood:
        """Give the concepts around one as nodes and edges."""
        return await self._send(neighbourhood(concept_id, limit))

    async def concept_paths(
        self, start: str, end: str, *, ontology: str | None = None, hops: int = 4, limit: int = 5
    ) -> ConceptPaths:
        """Find the shortest ways between two concepts, each given by id, name or phrase."""
        return await self._send(concept_paths(start, end, ontology, hops, limit))

    async def concepts(self, ontology: str, *, offset: int = 0, limit: int = 100) -> ConceptList:
        """List an ontology's concepts, those of most sources first, one page at a time."""
        return await self._send(concepts(ontology, offset, limit))
