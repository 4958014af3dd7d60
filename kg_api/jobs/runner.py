"""The worker's loop: claim a job, run it under a lease, retry or end it; batches that run side by side."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import structlog

from kg_api.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    InvalidInput,
    KgError,
    LeaseLost,
    ModelUnavailable,
    NotFound,
    ProviderMissing,
    TooBusy,
    Unavailable,
)
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.jobs import FIRST
from kg_api.metrics import meters
from kg_api.providers.retrying import Abandoned, RejectedText, waiting_unless
from kg_api.providers.server_traits import list_learned
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import WorkerSettings
from kg_api.tracing import SpanKind, root_span

# The sign of life of a worker that has a job.

STUCK_EXIT_CODE = 70


class Heartbeat:
    """Renews a lease in a thread of its own, and notices when it is lost.

    A job that gets nothing done for too long is dead then. A handler that does not come back within a lease
    after that cannot be helped: the whole process ends, and whoever watches over it starts another.
    """

    def __init__(
        self,
        graph: Graph,
        owner: jobs.Owner,
        every_seconds: float,
        *,
        stuck_seconds: float = 86_400.0,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._graph = graph
        self._owner = owner
        self._every = every_seconds
        self._stuck = stuck_seconds
        self._leave = leave
        self._ended = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._every) and not self.lost.is_set():
            try:
                if not jobs.heartbeat(self._graph, self._owner, stuck_seconds=self._stuck):
                    self.lost.set()
                    log.error("job is stuck", job_id=self._owner.job_id, seconds=self._stuck)
                    if not self._ended.wait(self._owner.lease_seconds):
                        log.critical("worker ends: its job does not come back", job_id=self._owner.job_id)
                        self._leave(STUCK_EXIT_CODE)
            except LeaseLost:
                self.lost.set()
            except Exception as error:  # noqa: BLE001 - the border of a thread: one bad beat must not be the last
                log.warning(
                    "no heartbeat", job_id=self._owner.job_id, reason=f"{type(error).__name__}: {error}"
                )


# How long a job may work while others wait.

ASK_SECONDS = 2.0
"""The database is asked at most this often whether others of the job's rank wait."""


class TimeSlice:
    """One turn of a job.

    Over when its time is and another job of its rank waits for a worker, or as soon as there is work of a
    smaller rank: that is asked at every batch.
    """

    def __init__(self, graph: Graph, kinds: Sequence[str], seconds: float) -> None:
        self._graph = graph
        self._kinds = kinds
        self._next_look = time.monotonic() + seconds

    def is_over(self, job: jobs.ClaimedJob) -> bool:
        """Whether the job shall let others go first."""
        now = time.monotonic()
        over = now >= self._next_look
        if over:
            self._next_look = now + ASK_SECONDS
        elif job.rank == FIRST:
            return False
        return jobs.others_wait(self._graph, job, self._kinds, over=over)


# One run of a job by this worker: its lease, its cursor, its end.

T = TypeVar("T")


class Stopped(KgError):
    """The worker was told to stop; the job goes on elsewhere."""


class Yielded(KgError):
    """The job has had its turn; it goes on when others have had theirs."""


class Paused(KgError):
    """The job waits for something that others do."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class JobRun:
    """What a handler works with."""

    def __init__(
        self,
        graph: Graph,
        job: jobs.ClaimedJob,
        owner: jobs.Owner,
        *,
        stopping: threading.Event,
        lost: threading.Event,
        turn: TimeSlice | None = None,
    ) -> None:
        self.job = job
        """As it was claimed; what was asked for since is in it after a `finish` that gave False."""
        self.cursor = job.cursor
        self._graph = graph
        self._owner = owner
        self._stopping = stopping
        self._lost = lost
        self._turn = turn

    def checkpoint(self) -> None:
        """Call between batches.

        Raises:
            Stopped: the worker shall end.
            Yielded: it is the turn of others.
            LeaseLost: another worker has the job, or it was cancelled.
            DatabaseUnavailable: Neo4j does not answer.
        """
        self.require_running()
        if self._turn is not None and self._turn.is_over(self.job):
            raise Yielded

    def require_running(self) -> None:
        """Call instead of `checkpoint` where what is done must be done in one go, so that others wait.

        Raises:
            Stopped: the worker shall end.
            LeaseLost: another worker has the job, or it was cancelled.
        """
        self.require_lease()
        if self.is_stopping:
            raise Stopped

    def require_lease(self) -> None:
        """Call while a batch is waited for.

        Raises:
            LeaseLost: another worker has the job, or it was cancelled.
        """
        if self._lost.is_set():
            raise LeaseLost(f"job {self.job.job_id} is owned by another worker now, or has ended")

    @property
    def is_stopping(self) -> bool:
        """Whether the worker shall end."""
        return self._stopping.is_set()

    def pause(self, seconds: float) -> None:
        """Give the job back for a while, as a whole does that waits for its parts; its cursor is kept.

        Raises:
            Paused: always; let it pass.
        """
        raise Paused(seconds)

    def commit(self, work: Callable[[Transaction], T], *, after: str, done: int, set_aside: int = 0) -> T:
        """Do a batch's writes and move the cursor in one transaction; give what the writes gave.

        Args:
            work: the batch's writes; it may run twice, so it must be safe to repeat.
            after: the new cursor.
            done: how many items the batch stands for, with those that were set aside.
            set_aside: how many of them could not be done and were kept with their reason.

        Raises:
            LeaseLost: another worker has the job, or it or its whole has ended; nothing was written.
        """

        def batch(tx: Transaction) -> T:
            written = work(tx)
            jobs.advance(tx, self._owner, before=self.cursor, after=after, done=done, set_aside=set_aside)
            return written

        written = self._graph.transaction(batch)
        self.cursor = after
        return written

    def expect(self, left: int) -> None:
        """Correct the total by what is left to do.

        Raises:
            LeaseLost: another worker has the job, or it has ended.
        """
        jobs.expect(self._graph, self._owner, left=left)

    def lower(self, rank: int) -> bool:
        """Let what is worth more go first from now on; False when more was asked for meanwhile: do it first.

        Raises:
            LeaseLost: another worker has the job, or it has ended.
        """
        asked = jobs.lower(self._graph, self._owner, wanted=self.job.wanted, rank=rank)
        if isinstance(asked, jobs.JobRequest):
            self.job = _with(self.job, asked)
            return False
        self.job = replace(self.job, rank=asked)
        return True

    def begin_anew(self) -> None:
        """Move the cursor back to the beginning.

        Raises:
            LeaseLost: another worker has the job, or it has ended.
        """
        self.commit(lambda _: None, after="", done=0)

    def divide(self, parts: Sequence[str], *, after: str) -> None:
        """Make jobs of parts of this one, which any worker may take; their progress is this one's too.

        Raises:
            LeaseLost: another worker has the job, or it has ended.
        """
        jobs.add_parts(self._graph, self._owner, self.job.kind, self.job.ontology or "", parts)
        self.commit(lambda _: None, after=after, done=0)

    def unfinished_parts(self) -> list[str]:
        """The parts that are still to be done."""
        return jobs.unfinished_parts(self._graph, self.job.job_id)

    def finish(self) -> bool:
        """End the job; False when more work was asked for meanwhile and the handler has to go round again.

        The end is "completed with errors" when something was set aside. Unfinished parts are cancelled.

        Raises:
            LeaseLost: another worker has the job, or it has ended.
        """
        asked = jobs.finish(self._graph, self._owner, wanted=self.job.wanted)
        if asked is None:
            return True
        self.job = _with(self.job, asked)
        self.cursor = ""
        return False


def _with(job: jobs.ClaimedJob, asked: jobs.JobRequest) -> jobs.ClaimedJob:
    return replace(job, wanted=asked.wanted, selection=asked.selection, forced_at=asked.forced_at)


class Handler(Protocol):
    """What runs jobs of one kind. It ends with `run.finish()` having given True."""

    @property
    def kind(self) -> str: ...

    def run(self, run: JobRun) -> None:
        """Work from `run.cursor` on, in batches, each through `run.commit`."""
        ...


# The worker's loop: claim, run, again.

log = structlog.get_logger()

MAX_DELAY_SECONDS = 300.0
MIN_DELAY_SECONDS = 1.0
OTHER_WORKER_SECONDS = 5.0
"""A job of a provider that this worker has no settings for is left for so long: another may have them."""
MAX_ERROR_LENGTH = 500
"""Characters of an error that are kept on its job."""


def retry_delay(failures: int, jitter: float) -> float:
    """Seconds before the next try: 1, 2, 4, ... at most 300, with up to a quarter added.

    Args:
        failures: failures in a row so far, from 0.
        jitter: a random number from 0 to 1.
    """
    doubled = MIN_DELAY_SECONDS * 2 ** min(failures, 30)
    return min(doubled * (1 + jitter / 4), MAX_DELAY_SECONDS)


class Runner:
    """Runs jobs one after the other until it is told to stop."""

    def __init__(
        self,
        graph: Graph,
        handlers: Sequence[Handler],
        settings: WorkerSettings,
        *,
        worker: str,
        stopping: threading.Event,
    ) -> None:
        self._graph = graph
        self._handlers = {handler.kind: handler for handler in handlers}
        self._settings = settings
        self._worker = worker
        self._stopping = stopping

    def run_until_stopped(self) -> None:
        """Work until the stop event is set; a database that is away is waited for."""
        while not self._stopping.is_set():
            if not self._took_one():
                self._stopping.wait(self._settings.poll_seconds)

    def run_one(self) -> bool:
        """Take a job and run it; False when there was none.

        Raises:
            DatabaseUnavailable: Neo4j does not answer. A job that was running is taken up again by this
                worker as soon as it does, or by another when the lease has run out.
        """
        job = jobs.claim(
            self._graph,
            self._worker,
            list(self._handlers),
            lease_seconds=self._settings.lease_seconds,
            max_failures=self._settings.max_stumbles,
        )
        if job is None:
            return False
        if job.state == "running":
            caused_by = {"request_id": job.request_id} if job.request_id else {}
            with structlog.contextvars.bound_contextvars(job_id=job.job_id, kind=job.kind, **caused_by):
                about = {"kg__job_id": job.job_id, "kg__job_kind": job.kind}
                with root_span(f"job {job.kind}", SpanKind.CONSUMER, job.traceparent, **about) as span:
                    span.set_attribute("kg.job_outcome", self._run(job))
        else:
            log.error("job is dead", job_id=job.job_id, kind=job.kind, failures=job.failures)
        return True

    def _took_one(self) -> bool:
        try:
            return self.run_one()
        except DatabaseUnavailable as error:
            log.warning("waiting for the database", reason=str(error))
            return False

    def _run(self, job: jobs.ClaimedJob) -> str:
        owner = jobs.Owner(job.job_id, self._worker, job.fence, self._settings.lease_seconds)
        log.info("job taken", job_id=job.job_id, kind=job.kind, ontology=job.ontology, fence=job.fence)
        meters().jobs.begin(job.kind)
        begun, outcome = time.perf_counter(), "interrupted"
        try:
            outcome = self._outcome(job, owner)
        finally:
            meters().jobs.end(job.kind, outcome, time.perf_counter() - begun)
        return outcome

    def _outcome(self, job: jobs.ClaimedJob, owner: jobs.Owner) -> str:
        """Run a job; say how that ended."""
        try:
            every, stuck = self._settings.heartbeat_seconds, self._settings.stuck_seconds
            turn = TimeSlice(self._graph, list(self._handlers), self._settings.turn_seconds)
            with Heartbeat(self._graph, owner, every, stuck_seconds=stuck) as beat:
                run = JobRun(self._graph, job, owner, stopping=self._stopping, lost=beat.lost, turn=turn)
                self._handlers[job.kind].run(run)
            log.info("job completed", job_id=job.job_id, kind=job.kind)
            outcome = "completed"
        except Stopped:
            jobs.release(self._graph, owner)
            log.info("job released", job_id=job.job_id)
            outcome = "released"
        except Yielded:
            jobs.yield_job(self._graph, owner)
            log.info("job lets others go first", job_id=job.job_id)
            outcome = "yielded"
        except Paused as pause:
            jobs.yield_job(self._graph, owner, delay_seconds=pause.seconds)
            log.debug("job pauses", job_id=job.job_id, seconds=pause.seconds)
            outcome = "paused"
        except LeaseLost:
            outcome = self._handle_lost(job)
        except DatabaseUnavailable:
            raise
        except Unavailable as error:
            delay = retry_delay(job.waits, random.random())  # noqa: S311 - spreads retries, no secret
            if isinstance(error, ModelUnavailable | TooBusy):
                delay = max(delay, error.retry_after_seconds or 0)
            outcome = self._waits(job, owner, error, delay)
        except ProviderMissing as error:
            outcome = self._waits(job, owner, error, OTHER_WORKER_SECONDS)
        except Exception as error:  # noqa: BLE001 - the border of a job: whatever it is, it is recorded on the job
            outcome = self._handle_failure(job, owner, error)
        return outcome

    def _handle_lost(self, job: jobs.ClaimedJob) -> str:
        state = self._state(job.job_id)
        if state is JobState.CANCELLED:
            log.info("job cancelled", job_id=job.job_id, kind=job.kind)
            return "cancelled"
        if state is JobState.DEAD:
            log.error("job is dead", job_id=job.job_id, kind=job.kind)
            return "dead"
        log.warning("job lost to another worker", job_id=job.job_id)
        return "lost"

    def _state(self, job_id: str) -> JobState | None:
        """None when the job itself is gone."""
        try:
            return jobs.find_job(self._graph, job_id).state
        except NotFound:
            return None

    def _waits(self, job: jobs.ClaimedJob, owner: jobs.Owner, error: KgError, delay: float) -> str:
        told = f"waiting: {error}"[:MAX_ERROR_LENGTH]
        jobs.wait(self._graph, owner, told, delay_seconds=delay)
        log.warning("job waits", job_id=job.job_id, kind=job.kind, seconds=round(delay, 1), reason=str(error))
        return "waits"

    def _handle_failure(self, job: jobs.ClaimedJob, owner: jobs.Owner, error: Exception) -> str:
        state = jobs.fail(
            self._graph,
            owner,
            f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH],
            delay_seconds=retry_delay(job.failures, random.random()),  # noqa: S311 - spreads retries, no secret
            max_failures=self._settings.max_stumbles,
            permanent=isinstance(error, InvalidInput | ConfigurationError),
        )
        log.error("job failed", job_id=job.job_id, kind=job.kind, state=state, exc_info=error)
        return "dead" if state == JobState.DEAD else "failed"


# A worker shows that it is there, and tells of jobs that it cannot do.


class WorkerRegistration:
    """What this worker says of itself every few seconds."""

    def __init__(self, graph: Graph, name: str, kinds: Sequence[str]) -> None:
        self._graph = graph
        self._name = name
        self._kinds = kinds
        self._told = set[str]()
        self._ended = False
        self._telling = threading.Lock()

    def report(self) -> None:
        """Give a sign of life; say once of each kind of job that waits for a worker of another version."""
        try:
            with self._telling:
                if not self._ended:
                    host, notes = socket.gethostname(), list_learned()
                    jobs.sign_of_life(self._graph, self._name, host=host, pid=os.getpid(), notes=notes)
            waiting = jobs.unknown_kinds(self._graph, self._kinds)
            for kind in sorted(waiting.keys() - self._told):
                self._told.add(kind)
                log.warning(
                    "unknown kind of job, left for a worker of another version",
                    kind=kind,
                    waiting=waiting[kind],
                )
        except DatabaseUnavailable as error:
            log.warning("no sign of life", reason=str(error))

    def end(self) -> None:
        """Take the name off the list of workers."""
        with self._telling:  # so that a sign that is under way does not put it there again
            self._ended = True
        try:
            jobs.forget_worker(self._graph, self._name)
        except DatabaseUnavailable as error:
            log.warning("no farewell", reason=str(error))


# Going through what is due in batches: where a job goes on, how long that counts, and when it is done.

LOOKED_SECONDS = 1.0
"""How long it is believed that nothing has changed of what a round began with."""


class Item(Protocol):
    """One of the things that are due."""

    @property
    def identity(self) -> str: ...

    @property
    def place(self) -> str:
        """Where it stands in the order in which they are gone through."""
        ...


ItemT = TypeVar("ItemT", bound=Item)


class Steady:
    """Whether what a round began with still holds; looked at once a second."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds = holds
        self._current = True
        self._looked_at = time.monotonic()

    def __call__(self) -> bool:
        """Whether it does; once it does not, never again."""
        if self._current and time.monotonic() - self._looked_at > LOOKED_SECONDS:
            self._current = self._holds()
            self._looked_at = time.monotonic()
        return self._current


Next = Callable[[str, int], Sequence[ItemT]]
"""At most so many that are due behind a place, in their order; "" is before all."""


def read_on(place: str, due: Next[ItemT], size: int) -> Iterator[Sequence[ItemT]]:
    """What is due behind a place in batches, each read when it is asked for."""
    while batch := due(place, size):
        yield batch
        place = batch[-1].place
        if len(batch) < size:
            return


def cursor_at(name: str, item: Item) -> str:
    """The cursor of a job that has got as far as an item of what has that name, which has no colon."""
    return f"{name}:{item.place}"


def place_of(cursor: str, name: str) -> str:
    """Where a resumed job goes on in what has that name; the beginning if it was not at it."""
    before, _, place = cursor.partition(":")
    return place if before == name else ""


def in_rounds(run: JobRun, go_round: Callable[[], bool]) -> None:
    """Go round until a round says that nothing is to be done again and nobody asked for more; end the job."""
    while True:
        if go_round():
            run.begin_anew()
        elif run.finish():
            return


# Batches that are worked at beside each other, and come back in the order in which they were sent.

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
        while self._sent and (
            len(self._sent) >= self._room
            or (self._characters(due) + sum(self._characters(sent) for sent, _ in self._sent))
            > MAX_CHARACTERS
        ):
            yield self._land()

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
