"""Search: request -> embed query, once a space -> lanes side by side -> fuse -> windows -> answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.jobs import Progress
from kg_api.graph.library import find_source, neighbours
from kg_api.graph.passages import Found, SpaceVectors, by_text, by_vector, chunk_texts
from kg_api.graph.spaces import Space
from kg_api.models.search import SourceContext, SourceHit, SourceHits, SourceSearch
from kg_api.models.spaces import FIRST_SLUG
from kg_api.search import degraded
from kg_api.search.answer import Lanes, best, needed_texts, of_models, told
from kg_api.search.query import Query, prepare
from kg_api.search.query_vector import QueryVector, query_vector, require_space
from kg_api.search.readiness import EmbeddingWatch, IndexWatch
from kg_api.search.scope import Scope, SpaceScope, scope_of
from kg_api.search.timing import Stopwatch
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry

TEXT_INDEX = "source_text"
LANE_THREADS = 16


class SearchService:
    """Finds sources by meaning, by words, or both."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._plans = PlanWatch(graph)
        self._indexes = IndexWatch(graph)
        self._progress = EmbeddingWatch(graph)
        self._pool = ThreadPoolExecutor(LANE_THREADS, thread_name_prefix="lane")
        self._asking = ThreadPoolExecutor(LANE_THREADS, thread_name_prefix="question")
        """Apart from the lanes: a provider that is slow holds up nobody else."""

    def close(self) -> None:
        """End the lanes' threads."""
        self._pool.shutdown()
        self._asking.shutdown()

    def search(self, request: SourceSearch) -> SourceHits:
        """Find sources. What could not be done is told in `degraded`, never left out silently.

        Raises:
            InvalidInput: the query vector does not fit its space, or the filters name too many documents.
            Conflict: the query vector is of a space that is not searched.
            Unavailable: no lane that was asked for can answer.
        """
        watch = Stopwatch()
        known = self._plans.known(request.ontologies or (), fresh=request.documents is not None)
        query = prepare(request, list(known.standings))
        scope = scope_of(request, query.filters, known)
        require_space(request, scope.slugs)
        populating = self._indexes.populating(TEXT_INDEX, *(each.space.index_name for each in scope.spaces))
        with watch.stage("embed"):
            vectors = self._vectors(request, scope, populating)
        lanes = self._lanes(query, scope, vectors, populating, watch)
        blind = {vector.space.slug for vector in vectors if vector.vector is None}
        spaces = {name: standing.answering.space.slug for name, standing in known.standings.items()}
        found = best(
            lanes.pointed(),
            request.limit,
            request.min_similarity,
            unmeasured=lambda ontology: spaces.get(ontology, FIRST_SLUG) in blind,
        )
        hits = told(found, chunk_texts(self._graph, needed_texts(found)), spaces)
        if request.expand_context:
            with watch.stage("context"):
                hits = self._with_context(hits, request.window_size)
        asked = [vector.space.slug for vector in vectors if vector.vector is not None]
        return SourceHits(
            query_text=request.query_text,
            mode="hybrid"
            if lanes.vectors and lanes.text is not None
            else "vector"
            if lanes.vectors
            else "text",
            space=asked[0] if len(asked) == 1 else None,
            spaces=asked,
            sources=hits,
            degraded=degraded.tell(
                query,
                scope,
                vectors,
                lanes,
                text_index=populating.get(TEXT_INDEX),
                under_way=self._under_way(lanes, scope),
            ),
            timings_ms=watch.milliseconds(),
        )

    def context(self, source_id: str, window: int) -> SourceContext:
        """A source among its neighbours of the same document.

        Raises:
            NotFound: there is no such source.
        """
        source = find_source(self._graph, source_id)
        around = neighbours(self._graph, [source], window)[source_id]
        return SourceContext(source_id=source_id, window_size=window, sources=around)

    def _vectors(self, request: SourceSearch, scope: Scope, populating: dict[str, str]) -> list[QueryVector]:
        """One for each model, side by side where there are several."""
        models = scope.models
        alone = len(models) == 1

        def one(space: Space) -> QueryVector:
            return query_vector(
                request, self._spaces.of(space), populating, scope.indexes(space), alone=alone
            )

        return [one(models[0])] if alone else list(self._asking.map(one, models))

    def _lanes(
        self,
        query: Query,
        scope: Scope,
        vectors: Sequence[QueryVector],
        populating: dict[str, str],
        watch: Stopwatch,
    ) -> Lanes:
        """Run the lanes side by side: full text in this thread, those of vectors in others."""
        usable = {vector.space.slug: vector for vector in vectors if vector.usable}
        nearest = [
            (slug, self._pool.submit(self._by_vector, query, each, usable[slug], watch))
            for each in scope.spaces
            if (slug := each.space.slug) in usable
        ]
        wants_text = query.request.mode != "vector" or (len(usable) < len(vectors) and bool(query.text))
        text = None
        if wants_text and TEXT_INDEX not in populating:
            text = self._by_text(query, scope, vectors, watch)
        lanes = Lanes(of_models((slug, lane.result()) for slug, lane in nearest), text)
        if not lanes.asked:
            raise Unavailable("the search indexes are still being filled; try again in a moment")
        return lanes

    def _by_vector(
        self, query: Query, scope: SpaceScope, vector: QueryVector, watch: Stopwatch
    ) -> list[Found]:
        if vector.vector is None:
            return []
        with watch.stage("vector" if scope.space.key == FIRST_SLUG else f"vector_{scope.space.key}"):
            return by_vector(
                self._graph,
                vector.vector,
                scope.space,
                scope.filters,
                query.depth,
                wanted=query.request.limit,
            )

    def _by_text(
        self, query: Query, scope: Scope, vectors: Sequence[QueryVector], watch: Stopwatch
    ) -> list[Found]:
        known = {each.space.slug: each.vector for each in vectors if each.vector is not None}
        asked = SpaceVectors(
            vectors={
                each.space.key: known[each.space.slug] for each in scope.spaces if each.space.slug in known
            },
            properties={each.space.key: each.space.vector_property for each in scope.spaces},
            spaces=scope.elsewhere,
        )
        with watch.stage("text"):
            found = (by_text(self._graph, each, asked, query.depth) for each in query.full_text)
            best_first = sorted(chain(*found), key=lambda each: (-each.score, each.place.source_id))
            return best_first[: query.depth]

    def _under_way(self, lanes: Lanes, scope: Scope) -> dict[str, Progress]:
        """By ontology, how far embedding is, where only vectors were asked; words tell by what they find."""
        if lanes.text is not None:
            return {}
        within = {name for each in scope.spaces for name in each.filters.ontologies or ()}
        return {name: at for name, at in self._progress.read().items() if not within or name in within}

    def _with_context(self, found: list[SourceHit], window: int) -> list[SourceHit]:
        around = neighbours(self._graph, [*found], window)
        return [hit.model_copy(update={"context": around[hit.source_id]}) for hit in found]
