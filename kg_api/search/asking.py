"""Asking the lanes side by side, each one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain

from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.passages import Found, Nearest, SpaceVectors, by_text, by_vector
from kg_api.models.spaces import FIRST_SLUG
from kg_api.search.lanes import CONCEPTS, TEXT, VECTOR, Lanes, of_models
from kg_api.search.query import Query
from kg_api.search.query_vector import QueryVector
from kg_api.search.scope import Scope, SpaceScope
from kg_api.search.similarity_filter import SimilarityFilter
from kg_api.search.timing import Stopwatch

TEXT_INDEX = "source_words"
EXACT = "exact"
MOST_EXACT = 100_000
"""Sources whose vectors are all compared for one question: some seconds."""
LANE_THREADS = 16


@dataclass(frozen=True, slots=True)
class Question:
    """One search, ready to be asked."""

    query: Query
    scope: Scope
    vectors: Sequence[QueryVector]
    populating: dict[str, str]
    """Indexes that are not online, and their state."""
    watch: Stopwatch
    similar: SimilarityFilter = field(default_factory=SimilarityFilter)
    """What is similar enough."""

    @property
    def usable(self) -> dict[str, QueryVector]:
        """The vectors that a lane can be asked with, by the slug of their space."""
        return {vector.space.slug: vector for vector in self.vectors if vector.usable}

    @property
    def wants_text(self) -> bool:
        """Whether words are looked for: asked for, or in the place of vectors that are not to be had."""
        wanted = self.query.request.mode != "vector"
        return wanted or (len(self.usable) < len(self.vectors) and bool(self.query.text))

    @property
    def space_vectors(self) -> SpaceVectors:
        """The vectors, as lanes take them that find by something else and measure by them."""
        known = {each.space.slug: each.vector for each in self.vectors if each.vector is not None}
        spaces = [each.space for each in self.scope.spaces]
        return SpaceVectors(
            vectors={space.key: known[space.slug] for space in spaces if space.slug in known},
            properties={space.key: space.vector_property for space in spaces},
            spaces=self.scope.elsewhere,
        )

    @property
    def indexes(self) -> dict[str, str]:
        """The index, or indexes, of each lane."""
        exact = self.query.request.exact
        named = {
            f"{VECTOR}{slug}": EXACT if exact else ", ".join(self.scope.indexes(vector.space))
            for slug, vector in self.usable.items()
        }
        return {**named, TEXT: TEXT_INDEX, CONCEPTS: "concepts"}


class LaneRunner:
    """Asks the lanes: full text in the caller's thread, those of vectors in others."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._pool = ThreadPoolExecutor(LANE_THREADS, thread_name_prefix="lane")

    def close(self) -> None:
        """End the lanes' threads."""
        self._pool.shutdown()

    def run(self, question: Question, depth: int) -> Lanes:
        """Ask all lanes for so many hits.

        Raises:
            Unavailable: no lane that was asked for can answer.
        """
        usable = question.usable
        nearest = [
            (slug, self._pool.submit(self._by_vector, question, each, usable[slug], depth))
            for each in question.scope.spaces
            if (slug := each.space.slug) in usable
        ]
        text = None
        if question.wants_text and TEXT_INDEX not in question.populating:
            text = self._by_text(question, depth)
        found = [(slug, lane.result()) for slug, lane in nearest]
        cut = any(lane.cut for _, lane in found) or (text is not None and len(text) >= depth)
        lanes = Lanes(of_models((slug, lane.found) for slug, lane in found), text, cut=cut)
        if not lanes.asked:
            raise Unavailable("the search indexes are still being filled; try again in a moment")
        return lanes

    def _by_vector(self, question: Question, scope: SpaceScope, vector: QueryVector, depth: int) -> Nearest:
        if vector.vector is None:
            return Nearest([], cut=False)
        request = question.query.request
        name = "vector" if scope.space.key == FIRST_SLUG else f"vector_{scope.space.key}"
        with question.watch.stage(name):
            return by_vector(
                self._graph,
                vector.vector,
                scope.space,
                scope.filters,
                depth,
                wanted=request.limit,
                exact=request.exact,
                each_chunk=request.group_by == "chunk",
            )

    def _by_text(self, question: Question, depth: int) -> list[Found]:
        asked = question.space_vectors
        with question.watch.stage("text"):
            found = (by_text(self._graph, each, asked, depth) for each in question.query.full_text)
            best_first = sorted(chain(*found), key=lambda each: (-each.score, each.place.source_id))
            return best_first[:depth]
