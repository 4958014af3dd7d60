"""Batches that are worked at beside each other, and come back in the order in which they were sent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Generic, Self, TypeVar

from kg_api.jobs.batches import ItemT
from kg_api.jobs.run import JobRun, Stopped, Yielded
from kg_api.provider.service import RejectedText
from kg_api.provider.waiting import Abandoned, waiting_unless

LOOK_SECONDS = 0.1
"""How often it is looked, while a batch is waited for, whether the job is to go on at all."""
MAX_CHARACTERS = 4_000_000
"""Of the texts of all batches that are under way; a batch that alone is larger goes alone."""
MAX_TOGETHER = 1000
"""Items of batches that are given back together, so that they can be written by one transaction."""

BatchT = TypeVar("BatchT")
Landed = tuple[Sequence[ItemT], Callable[[], BatchT]]
"""What was sent, and a function that gives what became of it or raises what it failed of."""


class Flight(Generic[ItemT, BatchT]):
    """What is under way: read ahead, worked at in threads, given back in order to be written."""

    def __init__(
        self,
        run: JobRun,
        work: Callable[[Sequence[ItemT]], BatchT],
        *,
        at_once: int = 1,
        room: int = 1,
        characters: Callable[[Sequence[ItemT]], int] = lambda _: 0,
        together: bool = False,
    ) -> None:
        """Begin nothing yet.

        Args:
            run: of the job.
            work: what is done with a batch, by several threads at once.
            at_once: by how many.
            room: so many batches are under way or wait to be written. With 1 a batch begins when the last one
                is written, and is only read before.
            characters: how long the texts of a batch are.
            together: batches that are done by then are given back with the first one, unless they failed.
        """
        self._run = run
        self._work = work
        self._room = room
        self._characters = characters
        self._together = together
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
    ) -> Generator[list[Landed[ItemT, BatchT]]]:
        """Send what is read, as long as that is current; give batches in their order, some of them together.

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

    def _make_room(self, due: Sequence[ItemT]) -> Generator[list[Landed[ItemT, BatchT]]]:
        while self._sent and (len(self._sent) >= self._room or self._length(due) > MAX_CHARACTERS):
            yield self._land()

    def _length(self, due: Sequence[ItemT]) -> int:
        return self._characters(due) + sum(self._characters(sent) for sent, _ in self._sent)

    def _send(self, due: Sequence[ItemT]) -> None:
        self._sent.append((due, self._pool.submit(copy_context().run, self._begin, due)))

    def _begin(self, due: Sequence[ItemT]) -> BatchT:
        """Work at a batch in a thread of the pool, unless the flight ends before it begins."""
        if self._ends.is_set() or self._run.is_stopping:
            raise Abandoned
        try:
            with waiting_unless(self._ends):
                return self._work(due)
        except (RejectedText, Abandoned):
            raise
        except BaseException as error:
            self._end(error)  # the others would fail of it too
            raise

    def _end(self, reason: BaseException) -> None:
        self._reason = self._reason or reason
        self._ends.set()

    def _land_all(self) -> Generator[list[Landed[ItemT, BatchT]]]:
        while self._sent:
            yield self._land()

    def _land(self) -> list[Landed[ItemT, BatchT]]:
        """Wait for the first that was sent, as long as the job is ours; give it, and what can go with it."""
        due, done = self._sent.popleft()
        while not wait([done], LOOK_SECONDS).done:
            self._run.require_lease()
            if self._run.is_stopping:
                self._end(Stopped())
        landed, items = [(due, done)], len(due)
        while self._is_next_done(done) and items + len(self._sent[0][0]) <= MAX_TOGETHER:
            landed.append(self._sent.popleft())
            items += len(landed[-1][0])
        return [(due, partial(self._outcome, done)) for due, done in landed]

    def _is_next_done(self, first: Future[BatchT]) -> bool:
        """Whether the next batch can be written with one that has landed; what failed comes by itself."""
        if not (self._together and self._sent):
            return False
        following = self._sent[0][1]
        return following.done() and not (first.exception() or following.exception())

    def _outcome(self, done: Future[BatchT]) -> BatchT:
        try:
            return done.result()
        except Abandoned:
            raise self._reason or Stopped() from None
