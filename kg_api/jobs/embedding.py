"""Embedding jobs: a pass over what is due of sources, concepts or relationships, written batch by batch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, InvalidInput, LlmFailed
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_vectors import ConceptPlan, concepts_before, due_concepts, write_concept_vectors
from kg_api.graph.jobs import CONCEPT_EMBEDDING, EDGE_EMBEDDING, FIRST, SOURCE_EMBEDDING, STALE
from kg_api.graph.relations import EdgePlan, due_edges, write_edge_vectors
from kg_api.graph.spaces import Space, reject
from kg_api.graph.vectors import (
    DueText,
    EmbeddedBatch,
    NewChunk,
    NewParent,
    SourceText,
    Wanted,
    check_vector,
    chunk_ids_of,
    count_due,
    due_sources,
    reading_place,
    reject_source,
    write_batch,
)
from kg_api.jobs.runner import BatchT, Flight, ItemT, JobRun, Steady, cursor_at, in_rounds, place_of, read_on
from kg_api.providers.embedding_port import IN_PROCESS, Embedder, RejectedTexts
from kg_api.providers.retrying import RejectedText, wait
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.cost import PlannedChunk, Planner
from kg_api.spaces.open_spaces import FAULTS, Fault, OpenSpace
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_states
from kg_api.spaces.registry import CachedPassages, Passage, SpaceRegistry
from kg_api.text.contexts import contextual

# The model of a space, as targets use it.


class Assured(Protocol):
    """A space whose model can be seen to be as it was."""

    def assure(self) -> None:
        """See it, unless it was just seen."""
        ...

    def check(self) -> None: ...


OpenT = TypeVar("OpenT", bound=Assured)


class OpenedModel(ABC, Generic[OpenT]):
    """The model of a space, opened, and seen to be the same as ever, when it is first needed."""

    def __init__(self, space: Space, requests_at_once: int) -> None:
        self.at_once = 1 if space.identity.provider in IN_PROCESS else requests_at_once
        self._alone = threading.Lock() if self.at_once == 1 else nullcontext()
        self._space = space

    @abstractmethod
    def _find(self) -> OpenT:
        """The space in its registry."""

    @cached_property
    def opened(self) -> OpenT:
        """The space.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: its model does not answer as ever.
        """
        opened = self._find()
        opened.assure()
        return opened

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            As `opened`.
        """
        _ = self.opened

    def check(self) -> None:
        """See that the model answers as it always did, so that an item is at fault that it does not take.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not.
        """
        self.opened.check()

    def _checked(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Raise EmbeddingFailed where one cannot be written."""
        for vector in vectors:
            check_vector(vector, self._space.dimensions)
        return vectors


class SpaceModel(OpenedModel[OpenSpace]):
    """Embeds texts for one space."""

    def __init__(
        self,
        spaces: SpaceRegistry,
        space: Space,
        passages: CachedPassages,
        *,
        fresh: bool,
        requests_at_once: int = 1,
    ) -> None:
        """Nothing is opened yet.

        Args:
            spaces: where its model is opened.
            space: what it is for.
            passages: what was embedded before.
            fresh: what is there already is made anew, and the cache is not asked.
            requests_at_once: so many batches are embedded beside each other, where that is done elsewhere.
        """
        super().__init__(space, requests_at_once)
        self.fresh = fresh
        self.remembers = passages.keeps and not fresh
        """Whether what was embedded and not written is not embedded again."""
        self._spaces = spaces
        self._passages = passages

    def embed(self, passages: Sequence[Passage], *, fresh: bool = False) -> NDArray[np.float32]:
        """Embed passages, not from the cache where they shall be `fresh`; shape (len(passages), dimensions).

        Raises:
            RejectedTexts: these are.
            RejectedText: one of them is, and which is not known.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
        """
        opened = self.opened
        try:
            with self._alone:
                return self._checked(self._passages.embed(opened, passages, fresh=fresh or self.fresh))
        except RejectedTexts:
            raise
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def _find(self) -> OpenSpace:
        return self._spaces.of(self._space)


# A kind of thing that is embedded: what a pass has to know of it.


class LostItem(RejectedText):
    """What stands for an item cannot be had any more, whatever its model takes."""


class RejectedItems(RejectedText):
    """Some items of a batch are rejected; the others were accepted."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """`reasons`: by the item's identity."""
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons


def blame_items(error: RejectedTexts, passages: Iterable[tuple[str, Passage]]) -> RejectedText:
    """Turn rejected texts into the rejection of the items that they stand for.

    Args:
        error: of the model.
        passages: what was embedded, each with the identity of an item.
    """
    reasons = {
        identity: error.reasons[each]
        for identity, each in passages
        if isinstance(each, str) and each in error.reasons
    }
    return RejectedItems(reasons) if reasons else RejectedText(str(error))


class TargetModel(Protocol):
    """What a pass has to know of a target's model."""

    @property
    def at_once(self) -> int:
        """How many batches are embedded beside each other."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether what was embedded and not written is not embedded again."""
        ...

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not answer as ever.
        """
        ...

    def check(self) -> None:
        """See that it answers as it always did, so that an item is at fault that it does not take.

        Raises:
            As `open`.
        """
        ...


class EmbeddingTarget(ABC, Generic[ItemT, BatchT]):
    """What is due of one kind, in one space; `EmbeddingPass` does the rest."""

    noun: str
    """What one of them is called, as in `source`."""
    name: str
    """What a cursor calls all of them, without a colon: another text for each way to embed them."""
    is_written_together = False
    """Whether batches that are there at once are written by one transaction; if so, without `committed`."""

    @property
    @abstractmethod
    def model(self) -> TargetModel:
        """What embeds them."""

    @abstractmethod
    def due(self, after: str, limit: int) -> Sequence[ItemT]:
        """The next that are due behind a place, in their order; "" is before all."""

    @abstractmethod
    def count(self) -> int:
        """How many are due."""

    @abstractmethod
    def embed(self, items: Sequence[ItemT]) -> BatchT:
        """Embed some; several threads may do so at once.

        Raises:
            RejectedItems: the model does not take these.
            RejectedText: the model does not take one of them, and which is not known.
            EmbeddingUnavailable, ConfigurationError: it does not answer, or is another one.
        """

    @abstractmethod
    def write(self, tx: Transaction, batch: BatchT) -> int:
        """Write a batch where it still fits, safe to repeat; how many are done. The others stay due."""

    @abstractmethod
    def reject(self, tx: Transaction, item: ItemT, reason: str) -> None:
        """Set one aside that the model does not take, unless it has changed; safe to repeat."""

    def characters(self, items: Sequence[ItemT]) -> int:  # noqa: ARG002 - for those that count
        """How long their texts are together; 0 where all are short."""
        return 0

    def committed(self) -> None:
        """Do what follows a batch that was just written."""

    def resume(self, place: str, limit: int) -> None:
        """Make good for what a batch of at most so many, up to a place, may not have been followed by."""


# One pass over what is due of a kind: embedded, written batch by batch in order, single texts rejected.

log = structlog.get_logger()

MAX_REJECTED = 20
"""So many texts rejected before any is taken are no matter of single texts."""
MAX_REASON = 300
"""Characters."""


class EmbeddingPass(Generic[ItemT, BatchT]):
    """A job's pass over one or several targets of a kind: it keeps the cursor, and finds what is rejected."""

    def __init__(self, run: JobRun, batch_size: int, is_current: Callable[[], bool]) -> None:
        """`is_current`: whether the pass is still about what it began with; else it ends early."""
        self.is_current = is_current
        self.written = 0
        """Items that were done or set aside."""
        self.passed_over = 0
        """Items that changed while they were embedded."""
        self._run = run
        self._batch_size = batch_size
        self._accepted = False
        self._rejected: list[tuple[ItemT, RejectedText]] = []

    def through(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Embed what is due of a target.

        Raises:
            RejectedText: every text was.
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not answer as it should.
            As `JobRun.checkpoint`.
        """
        self._accepted, self._rejected = False, []  # what one model does not take says nothing of another
        place = place_of(self._run.cursor, target.name)
        if place:
            target.resume(place, self._batch_size)
        with self._flight(target) as flight:
            for landed in flight.over(self._read(target, place), self.is_current):
                if len(landed) > 1:  # none of them failed
                    self._write(target, [(due, embedded()) for due, embedded in landed])
                else:
                    self._take(target, *landed[0])
        if self._rejected:
            target.model.check()
        self._reject(target)

    def through_all(self, targets: Iterable[EmbeddingTarget[ItemT, BatchT]]) -> None:
        """Embed what is due of several targets.

        A model that cannot be used holds up no other: what is built beside it is the way away from it.

        Raises:
            As `through`: what came first, when all have had their turn.
        """
        faults = list[Fault]()
        for target in targets:
            try:
                self.through(target)
            except FAULTS as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _flight(self, target: EmbeddingTarget[ItemT, BatchT]) -> Flight[ItemT, BatchT]:
        """As many batches as are embedded at once may wait to be written, so that no thread stands still.

        Where vectors are remembered as they are made, the end of a worker costs the work on those that are
        being embedded and no more: one batch of a model in this process. Where they are not, the next of that
        begins when the last is written.
        """
        at_once = target.model.at_once
        room = 1 if at_once == 1 and not target.model.remembers else 2 * at_once
        return Flight(
            self._run,
            target.embed,
            at_once=at_once,
            room=room,
            characters=target.characters,
            together=target.is_written_together,
        )

    def _read(self, target: EmbeddingTarget[ItemT, BatchT], place: str) -> Iterator[Sequence[ItemT]]:
        for due in read_on(place, target.due, self._batch_size):
            target.model.open()  # before several threads need it
            yield due

    def _take(
        self,
        target: EmbeddingTarget[ItemT, BatchT],
        due: Sequence[ItemT],
        embedded: Callable[[], BatchT],
    ) -> None:
        """Write a batch without its rejected items; if those are not known, halve it until each is alone."""
        try:
            batch = embedded()
        except RejectedItems as error:
            if rest := [each for each in due if each.identity not in error.reasons]:
                self._take(target, rest, lambda: target.embed(rest))
            for item in due:  # after the others: what is rejected first says nothing of the model
                if item.identity in error.reasons:
                    self._set_aside(target, item, RejectedText(error.reasons[item.identity]))
        except RejectedText as error:
            if len(due) == 1:
                self._set_aside(target, due[0], error)
            for half in halves(due):
                self._take(target, half, lambda half=half: target.embed(half))
        else:
            self._write(target, [(due, batch)])

    def _write(
        self, target: EmbeddingTarget[ItemT, BatchT], batches: Sequence[tuple[Sequence[ItemT], BatchT]]
    ) -> None:
        """Write batches in their order, by one transaction."""
        after = cursor_at(target.name, batches[-1][0][-1])
        items = sum(len(due) for due, _ in batches)
        done = self._run.commit(
            lambda tx: sum(target.write(tx, batch) for _, batch in batches), after=after, done=items
        )
        self._accepted = True
        self.written += done
        self.passed_over += items - done
        target.committed()  # first: what is set aside may stand before this batch, and the cursor with it
        self._reject(target)

    def _set_aside(self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText) -> None:
        if isinstance(error, LostItem):  # says nothing of the model
            self._reject_one(target, item, error)
        else:
            self._rejected.append((item, error))
            if not self._accepted and len(self._rejected) >= MAX_REJECTED:
                raise error

    def _reject(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Set aside what was rejected, now that it is clear that others are taken, or that there were few."""
        for item, error in self._rejected:
            self._reject_one(target, item, error)
        self._rejected.clear()

    def _reject_one(self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText) -> None:
        reason = str(error)[:MAX_REASON]
        after = cursor_at(target.name, item)
        self._run.commit(lambda tx: target.reject(tx, item, reason), after=after, done=1, set_aside=1)
        self.written += 1
        log.warning("set aside", **{f"{target.noun}_id": item.identity}, place=item.place, reason=reason)


def halves(due: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """Both halves of several; none of one."""
    if half := len(due) // 2:
        yield from (due[:half], due[half:])


def left(targets: Iterable[EmbeddingTarget[Any, Any]]) -> bool:
    """Whether anything is due of some targets, wherever it stands."""
    return any(target.due("", 1) for target in targets)


# Jobs that embed what is due of a kind in an ontology.


class EmbeddingJob(ABC, Generic[ItemT, BatchT]):
    """Handles jobs of one kind. Memory is bounded by one batch, or by those that are in flight at once."""

    kind: ClassVar[str]

    def __init__(self, graph: Graph, batch_size: int) -> None:
        self._graph = graph
        self._batch_size = batch_size

    @abstractmethod
    def targets(
        self, run: JobRun, embedding_state: EmbeddingState
    ) -> Sequence[EmbeddingTarget[ItemT, BatchT]]:
        """What is to be embedded, where it answers now and where it shall."""

    def run(self, run: JobRun) -> None:
        """Embed what is due, in rounds, until nothing is left.

        What came in or changed meanwhile, or stood before the cursor of a resumed job, is embedded in another
        round, as long as rounds get on.
        """
        in_rounds(run, lambda: self._round(run))

    def _round(self, run: JobRun) -> bool:
        """Go over all that is due; whether to go round again."""
        embedding_state = read_embedding_states(self._graph, run.job.ontology).get(run.job.ontology or "")
        if embedding_state is None:
            return False
        try:
            return self._go_over(run, embedding_state)
        except FAULTS:
            self.complete(embedding_state)  # what is built may be, though the model that answers is broken
            raise

    def _go_over(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        """As `_round`, as the ontology stands."""
        resumed = run.cursor != ""
        targets = self.targets(run, embedding_state)
        run.expect(sum(target.count() for target in targets))
        over = self._pass(run, embedding_state)
        over.through_all(targets)
        if not over.is_current():
            return True
        if left(targets):
            return over.written > 0 or resumed
        self.complete(embedding_state)
        return False

    @abstractmethod
    def complete(self, embedding_state: EmbeddingState) -> None:
        """Do what follows when nothing is due any more."""

    def _pass(self, run: JobRun, embedding_state: EmbeddingState) -> EmbeddingPass[ItemT, BatchT]:
        """A pass as long as the ontology stands so."""

        def holds() -> bool:
            now = read_embedding_states(self._graph, embedding_state.ontology).get(embedding_state.ontology)
            return now is not None and now.identity == embedding_state.identity

        return EmbeddingPass(run, self._batch_size, Steady(holds))


class TextEmbeddingJob(EmbeddingJob[ItemT, BatchT]):
    """One whose items are embedded by texts that stand for them."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        batch_size: int,
        *,
        requests_at_once: int = 1,
    ) -> None:
        """`requests_at_once`: of models elsewhere."""
        super().__init__(graph, batch_size)
        self._spaces = spaces
        self._passages = passages
        self._requests_at_once = requests_at_once

    def complete(self, embedding_state: EmbeddingState) -> None:
        """Let a target that is complete answer."""
        activate_complete(self._graph, embedding_state)

    def _model(self, run: JobRun, space: Space) -> SpaceModel:
        fresh = run.job.forced_at is not None
        return SpaceModel(
            self._spaces, space, self._passages, fresh=fresh, requests_at_once=self._requests_at_once
        )


# What is embedded by one text each, and walked in the order of its ids.

EmbeddedTexts = Sequence[tuple[DueText, NDArray[np.float32]]]


class TextTarget(EmbeddingTarget[DueText, EmbeddedTexts]):
    """All but finding and writing them."""

    def __init__(self, graph: Graph, space: Space, wanted: Wanted, model: SpaceModel) -> None:
        self._graph = graph
        self._space = space.at("")
        self._wanted = wanted
        self._model = model

    @property
    def model(self) -> SpaceModel:
        return self._model

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[DueText]) -> EmbeddedTexts:
        """Embed as much of each text as the model takes.

        Raises:
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            RejectedText: one of the texts is refused.
        """
        embedder = self._model.opened.embedder()
        texts = [_fitting(embedder, each.text) for each in items]
        try:
            vectors = self._model.embed(texts)
        except RejectedTexts as error:
            named = zip((each.identity for each in items), texts, strict=True)
            raise blame_items(error, named) from error
        return list(zip(items, vectors, strict=True))

    def characters(self, items: Sequence[DueText]) -> int:
        """How long their texts are together."""
        return sum(len(each.text) for each in items)

    def reject(self, tx: Transaction, item: DueText, reason: str) -> None:
        """Mark one that the model does not take."""
        texts = {"identity": item.identity, "text_hash": item.text_hash}
        reject(tx, self._space, self._wanted.mark, **texts, reason=reason)


def _fitting(embedder: Embedder, text: str) -> str:
    """As much of a text as the model takes: what matters stands at its beginning."""
    spans = embedder.spans(text)
    return text[: spans[0][1]] if spans else text


# Sources that are embedded: planned as chunks, embedded, and written with their marks.


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


# The job that embeds an ontology's sources: fetch due -> chunk -> embed -> write, batch by batch.

KIND = SOURCE_EMBEDDING
DIVIDED_FROM = 1000
"""A job of so many sources is divided among the workers there are: half a minute of a local model's work."""
PARTS: Final = (":2", "2:4", "4:6", "6:8", "8:a", "a:c", "c:e", "e:")
"""Ranges of document ids, which are hexadecimal digests and so evenly spread."""
DIVIDED = "divided"
"""The cursor of a job whose parts were made: what they leave, in whatever way, it does itself."""
PARTS_SECONDS = 5.0
"""How often a divided job looks whether its parts have ended."""


class SourceEmbedding(TextEmbeddingJob[SourceText, EmbeddedBatch]):
    """Handles jobs of kind `source_embedding`.

    Memory is bounded by the batches of sources that are embedded at once, or by one document each where
    chunks cover several sources. A job of many sources is divided by document into parts, which several
    workers take. Texts without a vector go first; what is only stale is worth less, so new text of other
    ontologies goes before it.
    """

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        contexts: Contexts,
        passages: CachedPassages,
        batch_size: int,
        *,
        requests_at_once: int = 1,
    ) -> None:
        super().__init__(graph, spaces, passages, batch_size, requests_at_once=requests_at_once)
        self._contexts = contexts

    def targets(
        self, run: JobRun, embedding_state: EmbeddingState, *, divided: bool = False, new_only: bool = False
    ) -> list[SourceTarget]:
        """The sources by each plan; while parts make the target, by what answers meanwhile."""
        plans = embedding_state.plans[:-1] if divided else embedding_state.plans
        kept = [embedding_state.target] if run.job.part else plans
        return [self._target(run, embedding_state, plan, new_only=new_only) for plan in kept]

    def _target(
        self, run: JobRun, embedding_state: EmbeddingState, plan: Plan, *, new_only: bool
    ) -> SourceTarget:
        first, _, end = run.job.part.partition(":")
        wanted = embedding_state.wanted(
            plan, selection=run.job.selection, forced_at=run.job.forced_at, within=(first, end)
        )
        model = self._model(run, plan.space)
        return SourceTarget(self._graph, plan, wanted, model, self._contexts, new_only=new_only)

    def _go_over(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        resumed = run.cursor not in {"", DIVIDED}
        divided = self._divide(run, embedding_state)
        over = self._pass(run, embedding_state)
        if not self._gone_over(over, run, embedding_state, divided=divided):
            return True
        if divided:
            run.pause(PARTS_SECONDS)
        if not over.is_current():
            return True
        crossing = any(
            plan.config.crosses_sources for plan in embedding_state.plans
        )  # a neighbour may be due again
        if (resumed or over.passed_over or crossing) and left(self.targets(run, embedding_state)):
            return over.written > 0 or resumed
        if not run.job.part:
            self.complete(embedding_state)
        return False

    def _gone_over(
        self,
        over: EmbeddingPass[SourceText, EmbeddedBatch],
        run: JobRun,
        embedding_state: EmbeddingState,
        *,
        divided: bool,
    ) -> bool:
        """Go over what is new, then over the rest; False when more came in between, which goes first."""
        if run.job.rank == FIRST and run.job.selection == "due":
            over.through_all(self.targets(run, embedding_state, divided=divided, new_only=True))
            if not (over.is_current() and left(self.targets(run, embedding_state, divided=divided))):
                return True
            if not run.lower(STALE):
                return False
        over.through_all(self.targets(run, embedding_state, divided=divided))
        return True

    def _divide(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        """Whether others are to do parts of it; made once a round, when there is enough to share.

        Where several requests are under way at once, the provider is waited for, not a worker's cores.
        """
        if run.job.part:
            return False
        if unfinished := bool(run.unfinished_parts()):
            return unfinished
        if self._model(run, embedding_state.target.space).at_once > 1:
            return False
        if run.cursor or (run.job.total - run.job.done < DIVIDED_FROM and embedding_state.serving is None):
            return False
        due = [target.count() for target in self.targets(run, embedding_state)]
        run.expect(sum(due))
        if due[-1] >= DIVIDED_FROM:
            run.divide(PARTS, after=DIVIDED)
        return due[-1] >= DIVIDED_FROM


# Concepts that are embedded: by their label and what is said of them.

Merge = Callable[[Iterable[str]], object]
"""Merges concepts with those that are the same."""


class ConceptTarget(TextTarget):
    """The concepts of an ontology that are due in a space, in the order of their ids."""

    noun = "concept"

    def __init__(
        self, graph: Graph, plan: ConceptPlan, wanted: Wanted, model: SpaceModel, merge: Merge
    ) -> None:
        """`merge`: given the ids of each batch that is written."""
        super().__init__(graph, plan.space, wanted, model)
        self.name = f"{plan.space.slug}={plan.mark.value}"
        self._plan = plan
        self._merge = merge
        self._written: list[str] = []

    def due(self, after: str, limit: int) -> list[DueText]:
        return due_concepts(self._graph, self._wanted, after=after, limit=limit)

    def write(self, tx: Transaction, batch: EmbeddedTexts) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        self._written = write_concept_vectors(tx, self._plan, batch)
        return len(self._written)

    def committed(self) -> None:
        """Merge what was written with what is the same."""
        self._merge(self._written)

    def resume(self, place: str, limit: int) -> None:
        """Merge the last batch: a worker may have died before it did."""
        self._merge(concepts_before(self._graph, self._plan, place, limit))


# The job that embeds an ontology's concepts, and has those merged that turn out to be one.

MergeNear = Callable[[Graph, Space, str, Iterable[str]], int]
"""Links concepts of an ontology with what is near by vectors of a space, and merges those that are the same;
how many went."""
LinkNear = Callable[[Graph, Space, str, Iterable[str]], object]
"""Links them only."""


class ConceptEmbedding(TextEmbeddingJob[DueText, EmbeddedTexts]):
    """Handles jobs of kind `concept_embedding`."""

    kind = CONCEPT_EMBEDDING

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        batch_size: int,
        merge_near: MergeNear,
        *,
        link_near: LinkNear,
        requests_at_once: int = 1,
    ) -> None:
        super().__init__(graph, spaces, passages, batch_size, requests_at_once=requests_at_once)
        self._merge_near = merge_near
        self._link_near = link_near

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[ConceptTarget]:
        """The concepts of each space that is kept up."""
        return [self._target(run, plan) for plan in embedding_state.concept_plans]

    def _target(self, run: JobRun, plan: ConceptPlan) -> ConceptTarget:
        wanted = plan.wanted(run.job.selection, run.job.forced_at)
        model = self._model(run, plan.space)
        return ConceptTarget(self._graph, plan, wanted, model, lambda ids: self._merge(plan, ids))

    def _merge(self, plan: ConceptPlan, concept_ids: Iterable[str]) -> None:
        """Merge by what answers: a space that is being built does not decide over the graph yet."""
        if plan.space.slug == plan.answering.slug:
            self._merge_near(self._graph, plan.space, plan.ontology, concept_ids)
        else:
            self._link_near(self._graph, plan.space, plan.ontology, concept_ids)


# Relationships that are embedded by what they say, and their types by their names.


class EdgeTarget(TextTarget):
    """What is due in a space of an ontology's relationships, or of their types, in the order of their ids."""

    noun = "relationship"
    is_written_together = True

    def __init__(self, graph: Graph, plan: EdgePlan, wanted: Wanted, model: SpaceModel) -> None:
        super().__init__(graph, plan.space, wanted, model)
        self.name = f"{plan.label}={plan.space.slug}={plan.mark.value}"
        self._plan = plan

    def due(self, after: str, limit: int) -> list[DueText]:
        return due_edges(self._graph, self._wanted, after=after, limit=limit)

    def write(self, tx: Transaction, batch: EmbeddedTexts) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        return write_edge_vectors(tx, self._plan, batch)


# The job that embeds what an ontology's sources state of concepts.


class EdgeEmbedding(TextEmbeddingJob[DueText, EmbeddedTexts]):
    """Handles jobs of kind `edge_embedding`."""

    kind = EDGE_EMBEDDING

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[EdgeTarget]:
        """The relationships, and their types, of each space that is kept up."""
        return [self._target(run, plan) for plan in embedding_state.edge_plans]

    def _target(self, run: JobRun, plan: EdgePlan) -> EdgeTarget:
        wanted = plan.wanted(run.job.selection, run.job.forced_at)
        return EdgeTarget(self._graph, plan, wanted, self._model(run, plan.space))
