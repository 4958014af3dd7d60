"""Sources that are embedded: planned as chunks, embedded, and written with their marks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from kg_api.chunk.context import contextual
from kg_api.embed.port import RejectedTexts
from kg_api.errors import LlmFailed
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.chunks import (
    EmbeddedBatch,
    NewChunk,
    NewParent,
    chunk_ids_of,
    reject_source,
    write_batch,
)
from kg_api.graph.spaces.due import SourceText, Wanted, count_due, due_sources, reading_place
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.target import EmbeddingTarget, blame_items
from kg_api.planning.contexts import Contexts
from kg_api.planning.planner import PlannedChunk, Planner
from kg_api.provider.service import RejectedText
from kg_api.provider.waiting import wait
from kg_api.spaces.plans import Plan


class SourceTarget(EmbeddingTarget[SourceText, EmbeddedBatch]):
    """The sources of an ontology that are due by a plan, in reading order."""

    noun = "source"
    is_written_together = True

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        wanted: Wanted,
        model: SpaceModel,
        contexts: Contexts,
        *,
        new_only: bool = False,
    ) -> None:
        """`new_only`: only those that have no vector at all, whatever is wanted."""
        self.name = f"{'new ' if new_only else ''}{plan.mark.key}={plan.mark.value}"
        self._graph = graph
        self._plan = plan
        self._wanted = replace(wanted, selection="missing") if new_only else wanted
        self._model = model
        self._contexts = contexts
        self._planning = threading.Lock()

    @property
    def model(self) -> SpaceModel:
        return self._model

    def due(self, after: str, limit: int) -> list[SourceText]:
        return due_sources(self._graph, self._wanted, after=reading_place(after), limit=limit)

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[SourceText]) -> EmbeddedBatch:
        """Embed sources; one that is longer than the model takes is embedded in chunks, nothing is cut off.

        Raises:
            EmbeddingUnavailable, LlmUnavailable, ConfigurationError: a model does not answer.
            RejectedText: one of the texts is refused.
        """
        planned, versions = self._planned(items)
        key = self._plan.space.key
        alone = _alone(planned)
        chunks = [each for each in planned if id(each) not in {id(one) for one in alone.values()}]
        places = [each.place(key) for each in chunks]
        fresh = self.model.fresh or any(source.renewed for source in items)
        there = set[str]() if fresh else self._there(chunks)
        new = [
            (each, place) for each, place in zip(chunks, places, strict=True) if place.chunk_id not in there
        ]
        texts = (*alone.values(), *(each for each, _ in new))
        passages = [each.within or contextual(each.before, each.text) for each in texts]
        try:
            vectors = self.model.embed(passages, fresh=fresh)
        except RejectedTexts as error:
            pairs = zip(texts, passages, strict=True)
            named = ((source.source_id, passage) for each, passage in pairs for source in each.sources)
            raise blame_items(error, named) from error
        parents = _parents(chunks, key)
        return EmbeddedBatch(
            ontology=self._plan.ontology,
            sources=list({s.source_id: s for s in (*items, *_covered_sources(chunks))}.values()),
            due=frozenset(source.source_id for source in items),
            vectors=dict(zip(alone, vectors[: len(alone)], strict=True)),
            chunks=[
                NewChunk(place, vector) for (_, place), vector in zip(new, vectors[len(alone) :], strict=True)
            ],
            parents=parents,
            keep=frozenset(place.chunk_id for place in (*places, *(parent.place for parent in parents))),
            versions=versions,
        )

    def characters(self, items: Sequence[SourceText]) -> int:
        """How long they are together."""
        return sum(len(each.full_text) for each in items)

    def write(self, tx: Transaction, batch: EmbeddedBatch) -> int:
        """Write what still fits the sources as they are now; how many are done."""
        return write_batch(tx, batch, self._plan.space, self._plan.mark)

    def reject(self, tx: Transaction, item: SourceText, reason: str) -> None:
        """Mark a source that the model does not take."""
        reject_source(tx, item, self._plan.space, self._plan.mark, reason)

    @cached_property
    def _planner(self) -> Planner:
        config, embedder = self._plan.config, self.model.opened.embedder()
        return Planner(self._graph, config, embedder, self._contexts.sentence_vectors(config))

    def _planned(self, items: Sequence[SourceText]) -> tuple[list[PlannedChunk], dict[str, str | None]]:
        """The chunks of some sources, and the versions of documents by which they were planned.

        One thread at a time: the planner remembers the document that it was at.
        """
        with self._planning:
            wait(0)  # a language model may be paid for contexts: not when nobody waits any more
            try:
                planned = self._planner.chunks(items, self._contexts.of(self._plan))
            except LlmFailed as error:
                raise RejectedText(str(error)) from error
            return planned, self._planner.versions

    def _there(self, chunks: Sequence[PlannedChunk]) -> set[str]:
        ids = {source.source_id for each in chunks for source in each.sources}
        return chunk_ids_of(self._graph, ids, self._plan.space)


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


def _covered_sources(chunks: Sequence[PlannedChunk]) -> list[SourceText]:
    own = [source for each in chunks for source in each.sources]
    return own + [source for each in chunks if each.parent for source in each.parent.sources]
