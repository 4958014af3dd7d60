"""Batches that are embedded beside each other, and come back in the order in which they were sent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from types import TracebackType
from typing import Generic, Self

from kg_api.jobs.batches import ItemT
from kg_api.jobs.embedding.target import BatchT, EmbeddingTarget
from kg_api.jobs.run import JobRun, Stopped, Yielded
from kg_api.provider.service import RejectedText
from kg_api.provider.waiting import Abandoned, waiting_unless

LOOK_SECONDS = 0.1
"""How often it is looked, while a batch is waited for, whether the job is to go on at all."""
MAX_CHARACTERS = 4_000_000
"""Of the texts of all batches that are under way; a batch that alone is larger goes alone."""

Landed = tuple[Sequence[ItemT], Callable[[], BatchT]]
"""What was sent, and a function that gives what became of it or raises what it failed of."""


class Flight(Generic[ItemT, BatchT]):
    """What is under way to a target's model: read ahead, embedded in threads, given back in order.

    As many again wait to be embedded or written, so that no thread stands still while a batch is written.
    Where one batch is embedded at a time, the next is only read meanwhile: it begins when the last one is
    written, so that the end of a worker costs one batch and no more.
    """

    def __init__(self, run: JobRun, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        at_once = target.model.at_once
        self._run = run
        self._target = target
        self._room = at_once if at_once == 1 else 2 * at_once
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="in flight")
        self._ends = threading.Event()
        self._reason: BaseException | None = None
        self._sent: deque[tuple[Sequence[ItemT], Future[BatchT]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave alone what is still under way: nobody writes it, and waits in it end."""
        self._ends.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def over(
        self, read: Iterator[Sequence[ItemT]], is_current: Callable[[], bool]
    ) -> Generator[Landed[ItemT, BatchT]]:
        """Send what is read, as long as that is current; give each batch when those before it are through.

        A job that is to stop or to let others go first sends no more; what was begun is given, then it ends.

        Raises:
            As `JobRun.checkpoint`.
        """
        try:
            for due in read:
                yield from self._make_room(due)
                if not is_current():
                    break
                self._run.checkpoint()
                self._send(due)
        except (Stopped, Yielded) as end:
            self._end(end)
            yield from self._land_all()
            raise
        yield from self._land_all()

    def _make_room(self, due: Sequence[ItemT]) -> Generator[Landed[ItemT, BatchT]]:
        while self._sent and (len(self._sent) >= self._room or self._characters(due) > MAX_CHARACTERS):
            yield self._land()

    def _characters(self, due: Sequence[ItemT]) -> int:
        return self._target.characters(due) + sum(self._target.characters(sent) for sent, _ in self._sent)

    def _send(self, due: Sequence[ItemT]) -> None:
        self._target.model.open()
        self._sent.append((due, self._pool.submit(copy_context().run, self._embed, due)))

    def _embed(self, due: Sequence[ItemT]) -> BatchT:
        """Embed a batch in a thread of the pool, unless the flight ends before it begins."""
        if self._ends.is_set() or self._run.is_stopping:
            raise Abandoned
        try:
            with waiting_unless(self._ends):
                return self._target.embed(due)
        except (RejectedText, Abandoned):
            raise
        except BaseException as error:
            self._end(error)  # the others would fail of it too
            raise

    def _end(self, reason: BaseException) -> None:
        self._reason = self._reason or reason
        self._ends.set()

    def _land_all(self) -> Generator[Landed[ItemT, BatchT]]:
        while self._sent:
            yield self._land()

    def _land(self) -> Landed[ItemT, BatchT]:
        """Wait for the first that was sent, as long as the job is ours."""
        due, embedded = self._sent.popleft()
        while not wait([embedded], LOOK_SECONDS).done:
            self._run.require_lease()
            if self._run.is_stopping:
                self._end(Stopped())
        return due, lambda: self._outcome(embedded)

    def _outcome(self, embedded: Future[BatchT]) -> BatchT:
        try:
            return embedded.result()
        except Abandoned:
            raise self._reason or Stopped() from None
