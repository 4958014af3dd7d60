"""Which sources a graph is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kg_api.errors import NotFound
from kg_api.graph.database import Graph
from kg_api.graph.documents.called import documents_called
from kg_api.graph.documents.library import sources_called
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.search.passages import Filters
from kg_api.graph.search.similar import (
    NearSource,
    SimilarityQuery,
    VectorPart,
    nearest,
    places_in,
    places_of,
    vectors_of,
)
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.queries.similarity import GraphRequest
from kg_api.search.plan.chosen import Chosen, choose_sources
from kg_api.similarity.grouping import each_once
from kg_api.similarity.scope import Comparable, comparable
from kg_api.spaces.plans import OntologySnapshot

SEED_PARTS = 4
"""Chunks of a source to begin with whose like is looked for."""
PASSAGES_A_SOURCE = 3
"""So many passages are asked for each neighbour, for several may be of one source."""


@dataclass(frozen=True, slots=True)
class ChosenSources:
    """The nodes in reading order, and how many there were to choose from."""

    places: list[Place]
    total: int
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    seeds: frozenset[str] | None = None
    """Ids of those to begin with; None where all sources of some documents were taken."""


def choose_nodes(
    graph: Graph, remembered: RememberedFilters, request: GraphRequest, known: OntologySnapshot
) -> ChosenSources:
    """The sources that a request names, or those that are like them; of the documents that fit.

    Raises:
        NotFound: an ontology, a document or a source that the request names is not there.
        Conflict: several are called as one that is named.
        InvalidInput: the filters name too many documents, or a field that no document has.
    """
    known.require_known(request.ontologies)
    if request.source_ids is not None:
        fitting = _fitting(graph, remembered, request, None)
        return _around(graph, request, sources_called(graph, request.source_ids), known, fitting)
    wanted = list(known.embedding_states) if request.ontologies is None else request.ontologies
    named = request.documents
    called = None if named is None else documents_called(graph, named, known.there(request.ontologies))
    ids = None if called is None else [each for of_ontology in called.values() for each in of_ontology]
    fitting = _fitting(graph, remembered, request, ids)
    filters = fitting.filters
    places, total = places_in(graph, wanted, filters.document_ids, request.max_nodes, filters.sources)
    return ChosenSources(places, total, [*fitting.notes])


def _fitting(
    graph: Graph, remembered: RememberedFilters, request: GraphRequest, ids: Sequence[str] | None
) -> Chosen:
    """What fits the conditions, of some documents or of all."""
    within = Filters(request.ontologies, ids)
    return choose_sources(graph, remembered, request.where, within) if request.where else Chosen(within)


def _around(
    graph: Graph,
    request: GraphRequest,
    source_ids: Sequence[str],
    known: OntologySnapshot,
    fitting: Chosen,
) -> ChosenSources:
    """Some sources, and what is like them: the most similar that fit, as many as there is room for."""
    seeds = places_of(graph, source_ids)
    if missing := sorted(set(source_ids) - {place.source_id for place in seeds}):
        told = ", ".join(map(repr, missing[:10]))
        raise NotFound(f"there is no source {told}; its document may have changed since you saw it")
    parts = vectors_of(graph, source_ids, known.answering, known.new)
    scopes = {space.slug: space for space in (known.space_of(place.ontology) for place in seeds)}
    found: list[NearSource] = []
    degraded = [*fitting.notes]
    for space in scopes.values():
        filters = fitting.filters
        compared = comparable(space, request.ontologies, known)
        scope = replace(compared, documents=filters.document_ids, sources=filters.sources)
        own = [place for place in seeds if known.space_of(place.ontology).slug == space.slug]
        found += _neighbours(graph, _to_queries(own, parts, request), scope, request)
        degraded += scope.degradations()
    chosen = _with_room(seeds, found, request.max_nodes, degraded)
    return replace(chosen, seeds=frozenset(source_ids))


def _to_queries(
    seeds: Sequence[Place], parts: dict[str, list[VectorPart]], request: GraphRequest
) -> list[SimilarityQuery]:
    return [
        SimilarityQuery(place, own[:SEED_PARTS], same_document=not request.across_documents_only)
        for place in seeds
        if (own := parts.get(place.source_id))
    ]


def _neighbours(
    graph: Graph, asked: Sequence[SimilarityQuery], scope: Comparable, request: GraphRequest
) -> Iterator[NearSource]:
    """The nearest sources of each, from both slots of the space: one round trip each.

    Where a filter chose documents it is one for each document that is compared: the index takes a list of
    them, out of which that one is taken.
    """
    depth = PASSAGES_A_SOURCE * request.neighbours + 1
    for some, among in _lookups(asked, scope, across=request.across_documents_only):
        found = [
            near
            for space, names in scope.slots
            for near in nearest(graph, some, space, names, depth, document_ids=among, sources=scope.sources)[
                0
            ]
        ]
        for number, each in enumerate(some):
            own = sorted((near for near in found if near.asked == number), key=lambda near: -near.similarity)
            once = list(each_once(own, each.place.source_id, request.min_similarity))
            yield from once[: request.neighbours]


def _lookups(
    asked: Sequence[SimilarityQuery], scope: Comparable, *, across: bool
) -> Iterator[tuple[Sequence[SimilarityQuery], Sequence[str] | None]]:
    """What is asked at once, and among which documents."""
    if scope.documents is None or not across:
        yield asked, scope.documents
        return
    for own in dict.fromkeys(each.place.document_id for each in asked):
        of_document = [each for each in asked if each.place.document_id == own]
        yield of_document, [each for each in scope.documents if each != own]


def _with_room(
    seeds: Sequence[Place], found: list[NearSource], most: int, degraded: list[Degradation]
) -> ChosenSources:
    nearest_first = sorted(found, key=lambda near: (-near.similarity, near.place.source_id))
    every: dict[str, Place] = {
        place.source_id: place for place in (*seeds, *(near.place for near in nearest_first))
    }
    kept = sorted(
        [*every.values()][:most], key=lambda p: (p.ontology, p.document, p.document_id, p.paragraph)
    )
    return ChosenSources(kept, len(every), degraded)
