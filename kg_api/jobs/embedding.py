"""Embedding jobs: a pass over the pending items of a kind, written batch by batch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, FileLost, InvalidInput, LlmFailed
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.jobs import FIRST, STALE
from kg_api.graph.spaces import Space, reject
from kg_api.graph.targets import KINDS, PendingItem, Plan, list_embedded_up_to, list_pending, write_vectors
from kg_api.graph.vectors import (
    EmbeddedBatch,
    NewChunk,
    NewParent,
    PendingQuery,
    SourceText,
    check_vector,
    count_due,
    list_pending_sources,
    parse_reading_place,
    read_chunk_ids,
    reject_source,
    write_batch,
)
from kg_api.jobs.runner import (
    BatchPipeline,
    BatchT,
    CircuitState,
    ItemT,
    JobRun,
    format_cursor,
    iterate_batches,
    parse_cursor_place,
    run_rounds,
)
from kg_api.providers.embedding_port import IN_PROCESS, RejectedTexts
from kg_api.providers.remote_embedding import RejectedPictures
from kg_api.providers.retrying import RejectedText, wait
from kg_api.schemas.vocabulary import EmbeddedKind
from kg_api.spaces.chunk_plans import PlannedChunk, Planner
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.images import ImageSpaceRegistry, OpenImageSpace
from kg_api.spaces.open_spaces import FAULTS, Fault, OpenSpace
from kg_api.spaces.plans import EmbeddingState, activate_complete, read_embedding_states
from kg_api.spaces.registry import CachedPassages, Passage, SpaceRegistry
from kg_api.text.contexts import add_context

# Models of spaces

PIXEL_BYTES_A_CHARACTER = 64
"""Pixel bytes that count as one character. Limits eight batches of large images to 256 MB instead of 1 GB."""


class LostItem(RejectedText):
    """The file of an item is missing."""


class RejectedItems(RejectedText):
    """The model rejects some items of a batch, by id, and accepts the others."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons


def convert_rejected_texts(error: RejectedTexts, passages: Iterable[tuple[str, Passage]]) -> RejectedText:
    reasons = {
        identity: error.reasons[each]
        for identity, each in passages
        if isinstance(each, str) and each in error.reasons
    }
    return RejectedItems(reasons) if reasons else RejectedText(str(error))


OpenT = TypeVar("OpenT", OpenSpace, OpenImageSpace)


class ItemModel(ABC, Generic[OpenT]):
    """The model of a space, opened and verified at first use."""

    remembers = False  # unwritten vectors are cached

    def __init__(self, space: Space, find: Callable[[Space], OpenT], requests_at_once: int) -> None:
        self.at_once = 1 if space.identity.provider in IN_PROCESS else requests_at_once
        """Batches embedded in parallel."""
        self._alone = threading.Lock() if self.at_once == 1 else nullcontext()
        self._space = space
        self._find = find

    @cached_property
    def opened(self) -> OpenT:
        opened = self._find(self._space)
        opened.ensure_verified()
        return opened

    @abstractmethod
    def embed_items(self, items: Sequence[PendingItem]) -> NDArray[np.float32]:
        """Embed items and return vectors of shape (len(items), dimensions)."""

    @abstractmethod
    def characters(self, items: Sequence[PendingItem]) -> int:
        """Return the memory use of items during embedding, in characters."""

    def _check(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        for vector in vectors:
            check_vector(vector, self._space.dimensions)
        return vectors


class SpaceModel(ItemModel[OpenSpace]):
    def __init__(
        self,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        requests_at_once: int,
        space: Space,
        fresh: bool,
    ) -> None:
        """With `fresh`, re-embed existing vectors without the cache."""
        super().__init__(space, spaces.get_open, requests_at_once)
        self.fresh = fresh
        self.remembers = passages.keeps and not fresh
        self._passages = passages

    def embed(self, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Embed passages. Return shape (len(passages), dimensions)."""
        opened = self.opened
        try:
            with self._alone:
                return self._check(self._passages.embed(opened, passages, fresh=self.fresh))
        except RejectedTexts:
            raise
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def embed_items(self, items: Sequence[PendingItem]) -> NDArray[np.float32]:
        """Embed the start of each text, up to the model's limit."""
        embedder = self.opened.get_embedder()
        texts = list[str]()
        for each in items:
            spans = embedder.spans(each.text)
            texts.append(each.text[: spans[0][1]] if spans else each.text)
        try:
            return self.embed(texts)
        except RejectedTexts as error:
            named = zip((each.identity for each in items), texts, strict=True)
            raise convert_rejected_texts(error, named) from error

    def characters(self, items: Sequence[PendingItem]) -> int:
        return sum(len(each.text) for each in items)


ReadBlob = Callable[[str], bytes]  # returns the file of a key, or raises FileLost


class ImageModel(ItemModel[OpenImageSpace]):
    """Embeds image files for one space, without a cache."""

    def __init__(
        self,
        spaces: ImageSpaceRegistry,
        read: ReadBlob,
        requests_at_once: int,
        space: Space,
        fresh: bool,  # noqa: ARG002 - required by `OpenModel`
    ) -> None:
        super().__init__(space, spaces.get_open, requests_at_once)
        self._spaces = spaces
        self._read = read

    def embed_items(self, items: Sequence[PendingItem]) -> NDArray[np.float32]:
        try:
            pixels = [self._spaces.render(self.opened, self._read(each.text)) for each in items]
            with self._alone:
                return self._check(self.opened.embed_pixels(pixels))
        except FileLost as error:
            raise LostItem(str(error)) from error
        except RejectedPictures as error:
            raise RejectedItems({items[at].identity: why for at, why in error.reasons.items()}) from error
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def characters(self, items: Sequence[PendingItem]) -> int:
        rendering = self.opened.rendering
        return len(items) * rendering.width * rendering.height * 3 // PIXEL_BYTES_A_CHARACTER


AnyModel = ItemModel[OpenSpace] | ItemModel[OpenImageSpace]

# Embedding targets


class EmbeddingTarget(ABC, Generic[ItemT, BatchT]):
    """The pending items of one kind in one space, processed by `EmbeddingPass`."""

    noun: str
    name: str  # name in cursors without a colon, different for each way to embed the items
    model: AnyModel
    is_written_together = False
    """True if one transaction may write several batches. Requires a target without `committed`."""

    @abstractmethod
    def read_due(self, after: str, limit: int) -> Sequence[ItemT]:
        """Return the next pending items after a position, in order. "" is the start."""

    @abstractmethod
    def count(self) -> int:
        """Count pending items."""

    @abstractmethod
    def embed(self, items: Sequence[ItemT]) -> BatchT:
        """Embed items. Thread-safe. Raises the errors of `ItemModel.embed_items`."""

    @abstractmethod
    def write(self, tx: Transaction, batch: BatchT) -> int:
        """Write vectors of unchanged items and return their number. Idempotent. Changed ones stay pending."""

    @abstractmethod
    def reject(self, tx: Transaction, item: ItemT, reason: str) -> None:
        """Mark an item as rejected unless it changed. Idempotent."""

    def characters(self, items: Sequence[ItemT]) -> int:  # noqa: ARG002 - for overrides
        """Return the total text length, or 0 if all texts are short."""
        return 0

    def run_follow_up(self) -> None:
        """Run follow-up work after a batch was written."""

    def resume(self, place: str, limit: int) -> None:
        """Repeat the follow-up work of the last batch before a position, in case the worker died."""


# Pass over pending items

log = structlog.get_logger()

MAX_REJECTED = 20  # if the model rejects this many texts before it accepts one, the model is at fault
MAX_REASON = 300  # characters


class EmbeddingPass(Generic[ItemT, BatchT]):
    """A job's pass over targets of a kind. Maintains the cursor and isolates rejected items."""

    def __init__(self, run: JobRun, batch_size: int, is_current: Callable[[], bool]) -> None:
        """End the pass early once `is_current` returns False."""
        self.is_current = is_current
        self.written = 0  # processed items, including rejected ones
        self.passed_over = 0  # items that changed during embedding
        self._run = run
        self._batch_size = batch_size
        self._accepted = False
        self._rejected: list[tuple[ItemT, RejectedText]] = []

    def embed_target(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Embed the pending items of a target."""
        self._accepted, self._rejected = False, []  # a rejection by one model says nothing about another
        place = parse_cursor_place(self._run.cursor, target.name)
        if place:
            target.resume(place, self._batch_size)
        with self._open_pipeline(target) as flight:
            for landed in flight.run(self._read(target, place), self.is_current):
                if len(landed) > 1:  # all of them succeeded
                    self._write(target, [(due, embedded()) for due, embedded in landed])
                else:
                    self._take(target, *landed[0])
        if self._rejected:
            target.model.opened.check()  # blame the items only if the model still works
        self._reject(target)

    def embed_all_targets(self, targets: Iterable[EmbeddingTarget[ItemT, BatchT]]) -> None:
        # An unusable model must not block other targets, because one of them may be its replacement.
        faults = list[Fault]()
        for target in targets:
            try:
                self.embed_target(target)
            except FAULTS as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _open_pipeline(self, target: EmbeddingTarget[ItemT, BatchT]) -> BatchPipeline[ItemT, BatchT]:
        """Return a flight with room for twice the parallel batches."""
        # Without a cache, the death of a worker must cost at most one batch of a local model
        at_once = target.model.at_once
        room = 1 if at_once == 1 and not target.model.remembers else 2 * at_once
        return BatchPipeline(
            self._run,
            target.embed,
            at_once=at_once,
            room=room,
            characters=target.characters,
            together=target.is_written_together,
        )

    def _read(self, target: EmbeddingTarget[ItemT, BatchT], place: str) -> Iterator[Sequence[ItemT]]:
        for due in iterate_batches(place, target.read_due, self._batch_size):
            _ = target.model.opened  # open the model before threads need it
            yield due

    def _take(
        self, target: EmbeddingTarget[ItemT, BatchT], due: Sequence[ItemT], embedded: Callable[[], BatchT]
    ) -> None:
        """Write a batch without its rejected items. If they are unknown, bisect the batch."""
        try:
            batch = embedded()
        except RejectedItems as error:
            if rest := [each for each in due if each.identity not in error.reasons]:
                self._take(target, rest, lambda: target.embed(rest))
            for item in due:  # after the accepted items, so that the model counts as working
                if item.identity in error.reasons:
                    self._record_rejection(target, item, RejectedText(error.reasons[item.identity]))
        except RejectedText as error:
            if len(due) == 1:
                self._record_rejection(target, due[0], error)
            for half in split_in_half(due):
                self._take(target, half, lambda half=half: target.embed(half))
        else:
            self._write(target, [(due, batch)])

    def _write(
        self, target: EmbeddingTarget[ItemT, BatchT], batches: Sequence[tuple[Sequence[ItemT], BatchT]]
    ) -> None:
        after = format_cursor(target.name, batches[-1][0][-1])
        items = sum(len(due) for due, _ in batches)
        done = self._run.commit(
            lambda tx: sum(target.write(tx, batch) for _, batch in batches), after=after, done=items
        )
        self._accepted = True
        self.written += done
        self.passed_over += items - done
        target.run_follow_up()  # before rejections, which may move the cursor back
        self._reject(target)

    def _record_rejection(
        self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText
    ) -> None:
        if isinstance(error, LostItem):  # independent of the model
            self._reject_one(target, item, error)
        else:
            self._rejected.append((item, error))
            if not self._accepted and len(self._rejected) >= MAX_REJECTED:
                raise error

    def _reject(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Mark the rejected items, after the model has accepted others or the items are few."""
        for item, error in self._rejected:
            self._reject_one(target, item, error)
        self._rejected.clear()

    def _reject_one(self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText) -> None:
        reason = str(error)[:MAX_REASON]
        after = format_cursor(target.name, item)
        self._run.commit(lambda tx: target.reject(tx, item, reason), after=after, done=1, set_aside=1)
        self.written += 1
        log.warning("set aside", **{f"{target.noun}_id": item.identity}, place=item.place, reason=reason)


def split_in_half(due: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """Yield both halves of a list, or nothing for a single item."""
    if half := len(due) // 2:
        yield from (due[:half], due[half:])


def has_pending(targets: Iterable[EmbeddingTarget[Any, Any]]) -> bool:
    """Check if any target has pending items, at any position."""
    return any(target.read_due("", 1) for target in targets)


# Embedding jobs

OpenTextModel = Callable[[Space, bool], SpaceModel]
OpenModel = Callable[[Space, bool], AnyModel]
"""Opens the model of a space. True: without the cache. The first arguments of a model are bound."""
Written = Callable[[Plan, Sequence[str]], object]  # follow-up work for written items, by id
EmbeddedItems = Sequence[tuple[PendingItem, NDArray[np.float32]]]


class ItemTarget(EmbeddingTarget[PendingItem, EmbeddedItems]):
    """The pending items of a plan with one vector each, in the order of their ids."""

    def __init__(
        self, graph: Graph, plan: Plan, wanted: PendingQuery, model: AnyModel, written: Written | None
    ) -> None:
        self.noun = plan.noun
        self.name = f"{plan.mark.label}={plan.space.slug}={plan.mark.value}"
        self.model = model
        self.is_written_together = written is None
        self._graph = graph
        self._plan = plan
        self._wanted = wanted
        self._follow = written
        self._written: list[str] = []

    def read_due(self, after: str, limit: int) -> list[PendingItem]:
        return list_pending(self._graph, self._wanted, after=after, limit=limit)

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[PendingItem]) -> EmbeddedItems:
        return list(zip(items, self.model.embed_items(items), strict=True))

    def characters(self, items: Sequence[PendingItem]) -> int:
        return self.model.characters(items)

    def write(self, tx: Transaction, batch: EmbeddedItems) -> int:
        self._written = write_vectors(tx, self._plan, batch)
        return len(self._written)

    def reject(self, tx: Transaction, item: PendingItem, reason: str) -> None:
        text = {"identity": item.identity, "text_hash": item.text_hash}
        reject(tx, self._plan.space, self._plan.mark, **text, reason=reason)

    def run_follow_up(self) -> None:
        if self._follow is not None:
            self._follow(self._plan, self._written)

    def resume(self, place: str, limit: int) -> None:
        if self._follow is not None:
            self._follow(self._plan, list_embedded_up_to(self._graph, self._plan, place, limit))


class EmbeddingJob:
    """Handles the jobs of a kind. Memory use is bounded by the batches in flight."""

    def __init__(
        self,
        graph: Graph,
        kind: EmbeddedKind,
        models: OpenModel,
        batch_size: int,
        written: Written | None = None,
    ) -> None:
        """Call `written` with the plan and the ids of each written batch."""
        self.kind = KINDS[kind].job
        self._graph = graph
        self._of: EmbeddedKind = kind
        self._models = models
        self._batch_size = batch_size
        self._written = written

    def targets(self, run: JobRun, state: EmbeddingState) -> Sequence[EmbeddingTarget[Any, Any]]:
        """Return the pending items of the active space and of the space under construction."""
        job = run.job
        return [
            ItemTarget(
                self._graph,
                plan,
                plan.build_query(job.selection, job.forced_at),
                self._models(plan.space, job.forced_at is not None),
                self._written,
            )
            for plan in state.plans(self._of)
        ]

    def run(self, run: JobRun) -> None:
        """Embed pending items in rounds until none is left or a round makes no progress."""
        # Later rounds embed new items, changed items, and items before the cursor of a resumed job.
        run_rounds(run, lambda: self._round(run))

    def _round(self, run: JobRun) -> bool:
        """Process all pending items, and return whether another round is necessary."""
        state = read_embedding_states(self._graph, run.job.ontology).get(run.job.ontology or "")
        if state is None:
            return False
        try:
            return self._run_round(run, state)
        except FAULTS:
            self._complete(state)  # the new space may be complete even if the active model fails
            raise

    def _run_round(self, run: JobRun, state: EmbeddingState) -> bool:
        resumed = run.cursor != ""
        targets = self.targets(run, state)
        run.expect(sum(target.count() for target in targets))
        over = self._pass(run, state)
        over.embed_all_targets(targets)
        if not over.is_current():
            return True
        if has_pending(targets):
            return over.written > 0 or resumed
        self._complete(state)
        return False

    def _complete(self, state: EmbeddingState) -> None:
        activate_complete(self._graph, state, KINDS[self._of].modality)

    def _pass(self, run: JobRun, state: EmbeddingState) -> EmbeddingPass[Any, Any]:
        """Return a pass that ends when the configuration of the ontology changes."""

        def holds() -> bool:
            now = read_embedding_states(self._graph, state.ontology).get(state.ontology)
            return now is not None and now.identity == state.identity

        return EmbeddingPass(run, self._batch_size, CircuitState(holds))


# Source targets: chunked, embedded, and written with their fingerprints


class SourceTarget(EmbeddingTarget[SourceText, EmbeddedBatch]):
    """The pending sources of a plan, in reading order."""

    noun = "source"
    is_written_together = True

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        wanted: PendingQuery,
        model: SpaceModel,
        contexts: Contexts,
        *,
        new_only: bool,
    ) -> None:
        """With `new_only`, select only sources without any vector."""
        self.name = f"{'new ' if new_only else ''}{plan.mark.key}={plan.mark.value}"
        self._graph = graph
        self._plan = plan
        self._wanted = replace(wanted, selection="missing") if new_only else wanted
        self.model = self._model = model
        self._contexts = contexts
        self._planning = threading.Lock()

    def read_due(self, after: str, limit: int) -> list[SourceText]:
        return list_pending_sources(self._graph, self._wanted, after=parse_reading_place(after), limit=limit)

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[SourceText]) -> EmbeddedBatch:
        """Embed sources. A source that exceeds the model's limit is split into chunks, never truncated."""
        planned, versions = self._plan_chunks(items)
        key = self._plan.space.key
        alone = _map_whole_sources(planned)
        chunks = [each for each in planned if id(each) not in {id(one) for one in alone.values()}]
        places = [each.build_place(key) for each in chunks]
        there = set[str]()
        if chunks and not self._model.fresh:
            ids = {source.source_id for each in chunks for source in each.sources}
            there = read_chunk_ids(self._graph, ids, self._plan.space)
        new = [
            (each, place) for each, place in zip(chunks, places, strict=True) if place.chunk_id not in there
        ]
        texts = (*alone.values(), *(each for each, _ in new))
        passages = [each.within or add_context(each.before, each.text) for each in texts]
        try:
            vectors = self._model.embed(passages)
        except RejectedTexts as error:
            pairs = zip(texts, passages, strict=True)
            named = ((source.source_id, passage) for each, passage in pairs for source in each.sources)
            raise convert_rejected_texts(error, named) from error
        parents = _list_parents(chunks, key)
        around = [each.parent for each in chunks if each.parent]
        covered = [source for each in (*chunks, *around) for source in each.sources]
        return EmbeddedBatch(
            ontology=self._plan.ontology,
            sources=list({s.source_id: s for s in (*items, *covered)}.values()),
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
        return sum(len(each.full_text) for each in items)

    def write(self, tx: Transaction, batch: EmbeddedBatch) -> int:
        return write_batch(tx, batch, self._plan.space, self._plan.mark)

    def reject(self, tx: Transaction, item: SourceText, reason: str) -> None:
        reject_source(tx, item, self._plan.space, self._plan.mark, reason)

    @cached_property
    def _planner(self) -> Planner:
        config, embedder = self._plan.config, self._model.opened.get_embedder()
        return Planner(self._graph, config, embedder, self._contexts.get_sentence_vectors(config))

    def _plan_chunks(self, items: Sequence[SourceText]) -> tuple[list[PlannedChunk], dict[str, str | None]]:
        """Return the chunks of sources and the document versions used for chunking."""
        # One thread at a time, because the planner caches its current document.
        with self._planning:
            wait(0)  # stop here if the job ends, because contexts from a language model may cost money
            try:
                planned = self._planner.plan_due(items, self._contexts.get_function(self._plan))
            except LlmFailed as error:
                raise RejectedText(str(error)) from error
            return planned, self._planner.versions


def _map_whole_sources(planned: Sequence[PlannedChunk]) -> dict[str, PlannedChunk]:
    """Return the chunks that equal a source and overlap no other chunk, by source."""
    touched = dict[str, int]()
    for each in planned:
        for source in each.sources:
            touched[source.source_id] = touched.get(source.source_id, 0) + 1
    whole = [each for each in planned if each.is_source]
    return {each.sources[0].source_id: each for each in whole if touched[each.sources[0].source_id] == 1}


def _list_parents(chunks: Sequence[PlannedChunk], space: str) -> list[NewParent]:
    children: dict[str, list[str]] = {}
    places = {
        each.parent.build_place(space).chunk_id: each.parent.build_place(space)
        for each in chunks
        if each.parent
    }
    for each in chunks:
        if each.parent:
            children.setdefault(each.parent.build_place(space).chunk_id, []).append(
                each.build_place(space).chunk_id
            )
    return [NewParent(place, tuple(children[identity])) for identity, place in places.items()]


# Source embedding job

DIVIDED_FROM = 1000  # minimum sources to divide a job among workers: half a minute for a local model
PARTS: Final = (":2", "2:4", "4:6", "6:8", "8:a", "a:c", "c:e", "e:")
"""Ranges of document ids. Ids are hexadecimal digests and therefore evenly distributed."""
DIVIDED = "divided"  # Cursor of a divided job. The job itself embeds the sources that its parts leave.
PARTS_SECONDS = 5.0  # interval to check for finished parts


class SourceEmbedding(EmbeddingJob):
    # Memory use is bounded by the batches in flight, or by one document per batch if chunks cover several
    # sources. A large job is divided by document into parts for several workers. Texts without vectors come
    # first. Stale vectors are less urgent, so new text of other ontologies precedes them.

    def __init__(self, graph: Graph, contexts: Contexts, models: OpenTextModel, batch_size: int) -> None:
        super().__init__(graph, "source", models, batch_size)
        self._contexts = contexts
        self._texts = models

    def targets(
        self, run: JobRun, state: EmbeddingState, *, divided: bool = False, new_only: bool = False
    ) -> list[SourceTarget]:
        """Return the pending sources by plan, without the new space while parts embed it."""
        job = run.job
        first, _, end = job.part.partition(":")
        plans = state.texts[:-1] if divided else state.texts
        return [
            SourceTarget(
                self._graph,
                plan,
                plan.build_query(job.selection, job.forced_at, (first, end)),
                self._texts(plan.space, job.forced_at is not None),
                self._contexts,
                new_only=new_only,
            )
            for plan in ([state.target] if job.part else plans)
        ]

    def _run_round(self, run: JobRun, state: EmbeddingState) -> bool:
        resumed = run.cursor not in {"", DIVIDED}
        divided = self._divide(run, state)
        over, more = self._pass(run, state), True
        if run.job.rank == FIRST and run.job.selection == "due":
            over.embed_all_targets(self.targets(run, state, divided=divided, new_only=True))
            more = over.is_current() and has_pending(self.targets(run, state, divided=divided))
            if more and not run.lower(STALE):
                return True  # new text arrived during this round and has priority
        if more:
            over.embed_all_targets(self.targets(run, state, divided=divided))
        if divided:
            run.pause(PARTS_SECONDS)
        if not over.is_current():
            return True
        crossing = any(plan.config.crosses_sources for plan in state.texts)  # a neighbour may be pending
        if (resumed or over.passed_over or crossing) and has_pending(self.targets(run, state)):
            return over.written > 0 or resumed
        if not run.job.part:
            self._complete(state)
        return False

    def _divide(self, run: JobRun, state: EmbeddingState) -> bool:
        """Divide a large job once per round, and return whether parts are in progress."""
        # With parallel requests, the provider is the bottleneck, not the worker's CPU.
        if run.job.part:
            return False
        if run.read_unfinished_parts():
            return True
        few = run.job.total - run.job.done < DIVIDED_FROM and state.serving is None
        if run.cursor or few or self._texts(state.target.space, False).at_once > 1:
            return False
        due = [target.count() for target in self.targets(run, state)]
        run.expect(sum(due))
        if due[-1] >= DIVIDED_FROM:
            run.divide(PARTS, after=DIVIDED)
        return due[-1] >= DIVIDED_FROM
