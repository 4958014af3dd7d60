"""One ontology's plan at work: sources in, a batch to be written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.chunk.context import contextual
from kg_api.errors import EmbeddingFailed, InvalidInput, KgError, LlmFailed
from kg_api.graph.chunks import EmbeddedBatch, NewChunk, NewParent, check_vector, chunk_ids_of
from kg_api.graph.database import Graph
from kg_api.graph.due import SourceText
from kg_api.planning.contexts import Contexts
from kg_api.planning.planner import PlannedChunk, Planner
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.plans import Plan


class Refused(KgError):
    """A model does not take a text, or answers with nothing usable; the reason is its message."""


class Work:
    """Embeds sources by one plan."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        opened: OpenSpace,
        contexts: Contexts,
        passages: CachedPassages,
        *,
        fresh: bool,
    ) -> None:
        """`fresh`: what is there already is made anew, and the cache is not asked."""
        self.plan = plan
        self._graph = graph
        self._opened = opened
        self._contexts = contexts
        self._passages = passages
        self._fresh = fresh
        self._planner = Planner(graph, plan.config, opened.embedder(), contexts.sentence_vectors(plan.config))

    def check(self) -> None:
        """See that the model answers as it always did, so that a text is at fault that it does not take.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not.
        """
        self._opened.check()

    def embedded(self, due: Sequence[SourceText]) -> EmbeddedBatch:
        """Embed sources; one that is longer than the model takes is embedded in chunks, nothing is cut off.

        Raises:
            EmbeddingUnavailable, LlmUnavailable, ConfigurationError: a model does not answer.
            Refused: one of the texts is refused.
        """
        try:
            planned = self._planner.chunks(due, self._contexts.of(self.plan))
        except LlmFailed as error:
            raise Refused(str(error)) from error
        key = self.plan.space.key
        alone = _alone(planned)
        chunks = [each for each in planned if id(each) not in {id(one) for one in alone.values()}]
        places = [each.place(key) for each in chunks]
        there = self._there(chunks)
        new = [
            (each, place) for each, place in zip(chunks, places, strict=True) if place.chunk_id not in there
        ]
        vectors = self._vectors([*alone.values(), *(each for each, _ in new)])
        parents = _parents(chunks, key)
        return EmbeddedBatch(
            ontology=self.plan.ontology,
            sources=list({s.source_id: s for s in (*due, *_covered(chunks))}.values()),
            due=frozenset(source.source_id for source in due),
            vectors=dict(zip(alone, vectors[: len(alone)], strict=True)),
            chunks=[
                NewChunk(place, vector) for (_, place), vector in zip(new, vectors[len(alone) :], strict=True)
            ],
            parents=parents,
            keep=frozenset(place.chunk_id for place in (*places, *(parent.place for parent in parents))),
            versions=self._planner.versions,
        )

    def _there(self, chunks: Sequence[PlannedChunk]) -> set[str]:
        ids = {source.source_id for each in chunks for source in each.sources}
        return set() if self._fresh else chunk_ids_of(self._graph, ids, self.plan.space)

    def _vectors(self, chunks: Sequence[PlannedChunk]) -> NDArray[np.float32]:
        passages = [each.within or contextual(each.before, each.text) for each in chunks]
        try:
            vectors = self._passages.embed(self._opened, passages, fresh=self._fresh)
            for vector in vectors:
                check_vector(vector, self.plan.space.dimensions)
        except (EmbeddingFailed, InvalidInput) as error:
            raise Refused(str(error)) from error
        return vectors


def _alone(planned: Sequence[PlannedChunk]) -> dict[str, PlannedChunk]:
    """The chunks that are a whole source which no other chunk touches, by source."""
    touched = dict[str, int]()
    for each in planned:
        for source in each.sources:
            touched[source.source_id] = touched.get(source.source_id, 0) + 1
    whole = [each for each in planned if each.is_source]
    return {each.sources[0].source_id: each for each in whole if touched[each.sources[0].source_id] == 1}


def _parents(chunks: Sequence[PlannedChunk], space: str) -> list[NewParent]:
    children: dict[str, list[str]] = {}
    places = {each.parent.place(space).chunk_id: each.parent.place(space) for each in chunks if each.parent}
    for each in chunks:
        if each.parent:
            children.setdefault(each.parent.place(space).chunk_id, []).append(each.place(space).chunk_id)
    return [NewParent(place, tuple(children[identity])) for identity, place in places.items()]


def _covered(chunks: Sequence[PlannedChunk]) -> list[SourceText]:
    own = [source for each in chunks for source in each.sources]
    return own + [source for each in chunks if each.parent for source in each.parent.sources]
