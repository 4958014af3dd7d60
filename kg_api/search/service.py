"""Search: request -> embed query -> lanes side by side -> fuse -> windows -> answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from kg_api.embed.port import Embedder
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.library import find_source, neighbours, ontology_names
from kg_api.graph.passages import Found, by_text, by_vector
from kg_api.graph.spaces import Space
from kg_api.models.search import Degradation, SourceContext, SourceHit, SourceHits, SourceSearch
from kg_api.search.answer import Lanes, hits
from kg_api.search.query import MAX_TERMS, Query, prepare
from kg_api.search.query_vector import QueryVector, query_vector
from kg_api.search.readiness import IndexWatch
from kg_api.search.timing import Stopwatch

TEXT_INDEX = "source_text"
LANE_THREADS = 16


class SearchService:
    """Finds sources by meaning, by words, or both."""

    def __init__(self, graph: Graph, embedder: Embedder, space: Space) -> None:
        self._graph = graph
        self._embedder = embedder
        self._space = space
        self._indexes = IndexWatch(graph)
        self._pool = ThreadPoolExecutor(LANE_THREADS, thread_name_prefix="lane")

    def close(self) -> None:
        """End the lanes' threads."""
        self._pool.shutdown()

    def search(self, request: SourceSearch) -> SourceHits:
        """Find sources. What could not be done is told in `degraded`, never left out silently.

        Raises:
            InvalidInput: the query vector does not fit its space, or the filters name too many documents.
            Conflict: the query vector is of another space.
            Unavailable: no lane that was asked for can answer.
        """
        watch = Stopwatch()
        populating = self._indexes.populating(TEXT_INDEX, self._space.index_name)
        query = prepare(request, ontology_names(self._graph) if request.documents else [])
        with watch.stage("embed"):
            vector = query_vector(request, self._embedder, self._space, populating)
        lanes, degraded = self._lanes(query, vector, populating, watch)
        least = request.min_similarity if vector.vector is not None else None
        found = hits(lanes, request.limit, least)
        if request.expand_context:
            with watch.stage("context"):
                found = self._with_context(found, request.window_size)
        return SourceHits(
            query_text=request.query_text,
            mode="hybrid" if len(lanes.asked) > 1 else "vector" if lanes.vector is not None else "text",
            space=self._space.slug if vector.vector is not None else None,
            sources=found,
            degraded=[*vector.degraded, *degraded, *_missing_concepts(request)],
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

    def _lanes(
        self, query: Query, vector: QueryVector, populating: dict[str, str], watch: Stopwatch
    ) -> tuple[Lanes, list[Degradation]]:
        """Run the lanes side by side: full text in this thread, vectors in another."""
        nearest = self._pool.submit(self._by_vector, query, vector, watch) if vector.usable else None
        wants_text = query.request.mode != "vector" or (nearest is None and bool(query.text))
        degraded = _text_degradations(query, populating) if wants_text else []
        text = self._by_text(query, vector, watch) if wants_text and TEXT_INDEX not in populating else None
        lanes = Lanes(vector=nearest.result() if nearest else None, text=text)
        if not lanes.asked:
            raise Unavailable("the search indexes are still being filled; try again in a moment")
        return lanes, degraded

    def _by_vector(self, query: Query, vector: QueryVector, watch: Stopwatch) -> list[Found]:
        with watch.stage("vector"):
            return by_vector(self._graph, vector.required(), query.filters, query.depth)

    def _by_text(self, query: Query, vector: QueryVector, watch: Stopwatch) -> list[Found]:
        with watch.stage("text"):
            found = (
                by_text(self._graph, each, vector.vector, self._space.fingerprint, query.depth)
                for each in query.full_text
            )
            best_first = sorted(chain(*found), key=lambda each: (-each.score, each.place.source_id))
            return best_first[: query.depth]

    def _with_context(self, found: list[SourceHit], window: int) -> list[SourceHit]:
        around = neighbours(self._graph, [*found], window)
        return [hit.model_copy(update={"context": around[hit.source_id]}) for hit in found]


def _missing_concepts(request: SourceSearch) -> list[Degradation]:
    effect = "include_concepts: this version has no concepts yet"
    return [Degradation(part="query", effect=effect)] if request.include_concepts else []


def _text_degradations(query: Query, populating: dict[str, str]) -> list[Degradation]:
    told: list[Degradation] = []
    if TEXT_INDEX in populating:
        told.append(
            Degradation(
                part="text_index",
                effect=f"the full-text index is {populating[TEXT_INDEX]}: searched by vector only",
            )
        )
    elif query.words_left_out:
        used = f"the first {MAX_TERMS} words were used, {query.words_left_out} were left out"
        told.append(Degradation(part="query", effect=f"full text: {used}"))
    elif not query.words:
        told.append(Degradation(part="query", effect="full text: there is no word in the query to look for"))
    return told
