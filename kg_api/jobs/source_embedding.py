"""The job that embeds an ontology's sources: fetch due -> chunk -> embed -> write, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.chunk.context import contextual
from kg_api.graph.chunks import EmbeddedBatch, NewChunk, NewParent, chunk_ids_of, write_batch
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import SourceText, due_sources
from kg_api.jobs.run import JobRun
from kg_api.planning.contexts import Contexts
from kg_api.planning.planner import PlannedChunk, Planner
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.plans import Plan, read_plans
from kg_api.spaces.registry import SpaceRegistry

KIND = "source_embedding"
BEGINNING = ("", -1)


class SourceEmbedding:
    """Handles jobs of kind `source_embedding`.

    Memory is bounded by one batch of sources, or by one document where chunks cover several sources.
    """

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        contexts: Contexts,
        passages: CachedPassages,
        batch_size: int,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._contexts = contexts
        self._passages = passages
        self._batch_size = batch_size

    def run(self, run: JobRun) -> None:
        """Walk the ontology's sources in reading order, again while more come in or it is configured anew.

        What a round has passed over, for its text changed meanwhile or it stood before the cursor of a
        resumed job, is looked for in another round, as long as rounds get on.
        """
        while True:
            if plan := read_plans(self._graph, run.job.ontology).get(run.job.ontology or ""):
                resumed = run.cursor != ""
                written = self._walk(run, plan)
                if (written or resumed) and self._due(plan, BEGINNING, 1):
                    run.begin_anew()
                    continue
            if run.finish():
                return

    def _walk(self, run: JobRun, plan: Plan) -> int:
        """One round; how many sources were done in it."""
        opened = self._spaces.of(plan.space)
        opened.check()
        work = _Work(self._graph, plan, opened, self._contexts, self._passages)
        written = 0
        while due := self._due(plan, _place(run.cursor), self._batch_size):
            run.checkpoint()
            batch, done = work.embedded(due), list[int]()

            def write(tx: Transaction, batch: EmbeddedBatch = batch, done: list[int] = done) -> None:
                done[:] = [write_batch(tx, batch, plan.space, plan.mark)]

            run.commit(write, after=_cursor(due[-1]), done=len(due))
            written += sum(done)
        return written

    def _due(self, plan: Plan, after: tuple[str, int], limit: int) -> list[SourceText]:
        return due_sources(self._graph, plan.ontology, plan.mark, after=after, limit=limit)


class _Work:
    """One ontology's plan at work."""

    def __init__(
        self, graph: Graph, plan: Plan, opened: OpenSpace, contexts: Contexts, passages: CachedPassages
    ) -> None:
        self._graph = graph
        self._plan = plan
        self._opened = opened
        self._contexts = contexts
        self._passages = passages
        self._planner = Planner(graph, plan.config, opened.embedder(), contexts.sentence_vectors(plan.config))

    def embedded(self, due: Sequence[SourceText]) -> EmbeddedBatch:
        """Embed sources; one that is longer than the model takes is embedded in chunks, nothing is cut off.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not give the vectors.
        """
        planned = self._planner.chunks(due, self._contexts.of(self._plan))
        slug = self._plan.space.slug
        alone = _alone(planned)
        chunks = [each for each in planned if id(each) not in {id(one) for one in alone.values()}]
        places = [each.place(slug) for each in chunks]
        there = chunk_ids_of(
            self._graph, {s.source_id for each in chunks for s in each.sources}, self._plan.space
        )
        new = [
            (each, place) for each, place in zip(chunks, places, strict=True) if place.chunk_id not in there
        ]
        vectors = self._vectors([*alone.values(), *(each for each, _ in new)])
        parents = _parents(chunks, slug)
        return EmbeddedBatch(
            ontology=self._plan.ontology,
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

    def _vectors(self, chunks: Sequence[PlannedChunk]) -> NDArray[np.float32]:
        return self._passages.embed(self._opened, [contextual(each.before, each.text) for each in chunks])


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


def _cursor(source: SourceText) -> str:
    return f"{source.document_id}:{source.paragraph}"


def _place(cursor: str) -> tuple[str, int]:
    document, _, paragraph = cursor.rpartition(":")
    return (document, int(paragraph)) if document else BEGINNING
