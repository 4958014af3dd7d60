"""Which sources a graph is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.database import Graph
from kg_api.graph.similar import Asked, Near, Part, nearest, places_in, places_of, vectors_of
from kg_api.models.identity import document_id
from kg_api.models.search import Degradation, Place
from kg_api.models.similarity import GraphRequest
from kg_api.search.query import MAX_SCOPES
from kg_api.similarity.grouping import each_once
from kg_api.similarity.scope import Comparable, answering, comparable, space_of, unknown_told
from kg_api.spaces.plans import Known

SEED_PARTS = 4
"""Chunks of a source to begin with whose like is looked for."""
PASSAGES_A_SOURCE = 3
"""So many passages are asked for each neighbour, for several may be of one source."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The nodes in reading order, and how many there were to choose from."""

    places: list[Place]
    total: int
    degraded: list[Degradation] = field(default_factory=list[Degradation])


def chosen(graph: Graph, request: GraphRequest, known: Known) -> Chosen:
    """The sources that a request names, or those that are like them.

    Raises:
        NotFound: one of the sources to begin with is not there.
        InvalidInput: the filters name too many documents.
    """
    if request.source_ids is not None:
        return _around(graph, request, request.source_ids, known)
    wanted = list(known.standings) if request.ontologies is None else request.ontologies
    places, total = places_in(graph, wanted, _document_ids(request, wanted), request.max_nodes)
    return Chosen(places, total, unknown_told(request.ontologies, known))


def _document_ids(request: GraphRequest, ontologies: Sequence[str]) -> list[str] | None:
    if request.documents is None:
        return None
    if len(ontologies) * len(request.documents) > MAX_SCOPES:
        raise InvalidInput(
            f"{len(request.documents)} names in {len(ontologies)} ontologies are more than {MAX_SCOPES:,} "
            "documents: name fewer of them, or the ontology they are in"
        )
    return [document_id(ontology, name) for ontology in ontologies for name in request.documents]


def _around(graph: Graph, request: GraphRequest, source_ids: Sequence[str], known: Known) -> Chosen:
    """Some sources, and what is like them: the most similar, as many as there is room for."""
    seeds = places_of(graph, source_ids)
    if missing := sorted(set(source_ids) - {place.source_id for place in seeds}):
        told = ", ".join(map(repr, missing[:10]))
        raise NotFound(f"there is no source {told}; its document may have changed since you saw it")
    parts = vectors_of(graph, source_ids, answering(known), known.new)
    scopes = {space.slug: space for space in (space_of(place.ontology, known) for place in seeds)}
    found: list[Near] = []
    degraded: list[Degradation] = []
    for space in scopes.values():
        scope = comparable(space, request.ontologies, known)
        own = [place for place in seeds if space_of(place.ontology, known).slug == space.slug]
        found += _neighbours(graph, _asked(own, parts, request), scope, request)
        degraded += scope.told()
    return _with_room(seeds, found, request.max_nodes, degraded)


def _asked(seeds: Sequence[Place], parts: dict[str, list[Part]], request: GraphRequest) -> list[Asked]:
    return [
        Asked(place, own[:SEED_PARTS], same_document=not request.across_documents_only)
        for place in seeds
        if (own := parts.get(place.source_id))
    ]


def _neighbours(
    graph: Graph, asked: Sequence[Asked], scope: Comparable, request: GraphRequest
) -> Iterator[Near]:
    """The nearest sources of each, from both slots of the space: one round trip each."""
    depth = PASSAGES_A_SOURCE * request.neighbours + 1
    found = [near for space, names in scope.slots for near in nearest(graph, asked, space, names, depth)[0]]
    for number, each in enumerate(asked):
        own = sorted((near for near in found if near.asked == number), key=lambda near: -near.similarity)
        once = list(each_once(own, each.place.source_id, request.min_similarity))
        yield from once[: request.neighbours]


def _with_room(seeds: list[Place], found: list[Near], most: int, degraded: list[Degradation]) -> Chosen:
    nearest_first = sorted(found, key=lambda near: (-near.similarity, near.place.source_id))
    every = {place.source_id: place for place in (*seeds, *(near.place for near in nearest_first))}
    kept = sorted(
        [*every.values()][:most], key=lambda p: (p.ontology, p.document, p.document_id, p.paragraph)
    )
    return Chosen(kept, len(every), degraded)
