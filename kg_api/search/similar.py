"""Sources that are similar to a source."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace

from kg_api.errors import Conflict, InvalidInput, TooBusy, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.library import find_source
from kg_api.graph.search import Filters
from kg_api.graph.similar import (
    NearSource,
    SimilarityQuery,
    VectorPart,
    count_sources,
    find_nearest,
    read_search_vectors,
)
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.similarity import (
    GraphRequest,
    PassageMap,
    SimilarSearch,
    SimilarSource,
    SimilarSources,
    SourceGraph,
)
from kg_api.search.near import MAX_PARTS as PARTS_MAX_PARTS
from kg_api.search.near import (
    Comparable,
    Group,
    build_comparable,
    deduplicate_sources,
    group_duplicates,
    present_similar,
    sample_evenly,
)
from kg_api.search.notes import Stopwatch, describe_embedding_progress
from kg_api.search.passage_map import build_map
from kg_api.search.plan import MAX_EXACT
from kg_api.search.scope import Chosen, choose_sources
from kg_api.search.source_graph import build_graph
from kg_api.spaces.plans import read_embedding_state
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots

# Similar sources in other documents and ontologies

FIRST_DEPTH = 50
MAX_BY_INDEX = 1000
"""Maximum depth to use the index. If you go deeper, all vectors are compared."""
MAX_COMPARED = 10_000
MAX_MAPS_AT_ONCE = 2
"""Maximum number of maps to build in parallel. To build one, all vectors are read, which takes seconds."""


class SimilarityService:
    """Finds similar sources, and builds a graph to show them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._maps = threading.BoundedSemaphore(MAX_MAPS_AT_ONCE)
        self._snapshots = get_snapshots(graph)
        self._remembered = self._snapshots.filters
        self._progress = self._snapshots.get_progress()

    def find_similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        """Find passages in other documents that are similar to a source.

        You can see limitations in `degraded`.

        Raises:
            NotFound: The source does not exist.
            Conflict: The source has no vector.
        """
        watch = Stopwatch("similar_sources")
        own = find_source(self._graph, source_id)
        known = self._snapshots.get([own.ontology, *(request.ontologies or ())])
        with watch.stage("vectors"):
            parts = self._read_vectors(own, known)
        scope = build_comparable(known.get_space(own.ontology), request.ontologies, known)
        with watch.stage("filter") if request.where else nullcontext():
            scope = self._narrow(request, scope, own.document_id)
        if not parts:
            raise Conflict(
                "the source has no vector yet, so kg cannot compare it. Its embedding job: kg jobs list"
            )
        with watch.stage("nearest"):
            sources, degraded = self._search_by_vectors(own, parts, scope, request)
        return SimilarSources(
            source=own,
            space=scope.space.slug,
            sources=sources,
            degraded=[
                *degraded,
                *scope.degradations(),
                *describe_embedding_progress(self._progress.get(), scope.ontologies),
            ],
            timings_ms=watch.get_milliseconds(),
        )

    def build_graph(self, request: GraphRequest) -> SourceGraph:
        """Connect sources to the sources that are most similar.

        Raises:
            NotFound: A start source does not exist.
            InvalidInput: The filters match too many documents.
        """
        named = request.documents is not None or bool(request.where)
        known = self._snapshots.get(request.ontologies or (), fresh=named)
        return build_graph(self._graph, self._remembered, request, known, self._progress)

    def map(self, ontology: str, limit: int) -> PassageMap:
        """Get the passages in an ontology as points, to show them on a map.

        Raises:
            NotFound: The ontology does not exist.
            TooBusy: Too many maps are in progress.
        """
        state = read_embedding_state(self._graph, ontology)
        if not self._maps.acquire(blocking=False):
            raise TooBusy(f"{MAX_MAPS_AT_ONCE} maps are in progress. Try again in a few seconds")
        try:
            return build_map(self._graph, ontology, limit, self._snapshots.get([state.ontology]))
        finally:
            self._maps.release()

    def _read_vectors(self, own: Place, known: OntologySnapshot) -> list[VectorPart]:
        found = read_search_vectors(self._graph, [own.source_id], known.answering, known.new)
        return sample_evenly(found.get(own.source_id, []), PARTS_MAX_PARTS)

    def _narrow(self, request: SimilarSearch, scope: Comparable, own: str) -> Comparable:
        """Use the filter from the request, and exclude the document that is compared."""
        if not request.where:
            return scope
        within = Filters(request.ontologies, None)
        chosen = choose_sources(self._graph, self._remembered, request.where, within)
        return _limit_scope(chosen, scope, None if request.same_document else own)

    def _search_by_vectors(
        self, own: Place, parts: list[VectorPart], scope: Comparable, request: SimilarSearch
    ) -> tuple[list[SimilarSource], list[Degradation]]:
        waiting = self._snapshots.read_populating(*(space.index_name for space, _ in scope.slots))
        query = SimilarityQuery(own, parts, same_document=request.same_document)
        self._require_few(scope, request, waiting)
        groups, more = self._reach(query, scope, request, exact=request.exact or bool(waiting))
        degraded = [
            Degradation(part="vector_index", effect=f"the index {name} is {state}: every vector was compared")
            for name, state in waiting.items()
        ]
        if more and len(groups) < request.limit:
            effect = "the nearest passages are near-duplicates, so kg did not check more distant ones"
            degraded.append(Degradation(part="vectors", effect=effect))
        return present_similar(self._graph, own, parts, groups[: request.limit]), degraded

    def _require_few(self, scope: Comparable, request: SimilarSearch, waiting: dict[str, str]) -> None:
        """Reject an exact search if there are too many sources.

        Raises:
            InvalidInput: The request asks for an exact search.
            Unavailable: The index is not ready, so an exact search would be necessary.
        """
        if not (request.exact or waiting):
            return
        sources = count_sources(self._graph, scope.ontologies, scope.documents, scope.sources)
        if sources > MAX_EXACT and request.exact:
            raise InvalidInput(
                f"exact compares every vector, and {sources:,} sources are more than {MAX_EXACT:,}. "
                "Name fewer ontologies, or omit exact"
            )
        if sources > MAX_EXACT:
            names = ", ".join(waiting)
            raise Unavailable(f"the vector index {names} is still being populated. Try again in a moment")

    def _reach(
        self, query: SimilarityQuery, scope: Comparable, request: SimilarSearch, *, exact: bool
    ) -> tuple[list[Group], bool]:
        """Go deeper until there are enough results. Check if there are more.

        Filters and grouping therefore never shorten the response.
        """
        depth = max(FIRST_DEPTH, 3 * request.limit)
        while True:
            found, more = self._find_nearest(query, scope, depth, exact=exact)
            own, least = query.place, request.min_similarity
            once = list(deduplicate_sources(found, own.source_id, least))
            groups = group_duplicates(own, once, together=request.group_duplicates)
            more = more and (least is None or found[-1].similarity >= least)
            if len(groups) >= request.limit or not more or depth >= MAX_COMPARED:
                return groups, more
            depth = min(MAX_COMPARED, 4 * depth)
            if depth > MAX_BY_INDEX and not exact:
                left = count_sources(self._graph, scope.ontologies, scope.documents, scope.sources)
                if left > MAX_EXACT:
                    return groups, more
                exact = True

    def _find_nearest(
        self, query: SimilarityQuery, scope: Comparable, depth: int, *, exact: bool
    ) -> tuple[list[NearSource], bool]:
        """Search both index slots in the space."""
        slots = [
            find_nearest(
                self._graph,
                [query],
                space,
                names,
                depth,
                exact=exact,
                document_ids=scope.documents,
                sources=scope.sources,
            )
            for space, names in scope.slots
        ]
        found = [near for nears, _ in slots for near in nears]
        best_first = sorted(found, key=lambda near: -near.similarity)
        return best_first, any(more for _, more in slots)


def _limit_scope(chosen: Chosen, scope: Comparable, left_out: str | None) -> Comparable:
    """Limit the scope to the result from a filter, without the document to compare."""
    ids = chosen.filters.document_ids
    return replace(
        scope,
        documents=None if ids is None else [each for each in ids if each != left_out],
        sources=chosen.filters.sources,
        unknown=[*scope.unknown, *chosen.notes],
    )
