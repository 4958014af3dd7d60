"""The worker's loop: claim a job, run it under a lease, then retry or end it. Also parallel batches."""

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
from kg_api.metrics import get_meters
from kg_api.providers.remote_embedding import list_learned
from kg_api.providers.retrying import RejectedText, RetryCancelled, cancel_waits_on
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import WorkerSettings
from kg_api.tracing import SpanKind, root_span

log = structlog.get_logger()

STUCK_EXIT_CODE = 70
ASK_SECONDS = 2.0  # minimum interval between database checks for waiting jobs of the same rank
MAX_DELAY_SECONDS = 300.0
MIN_DELAY_SECONDS = 1.0
OTHER_WORKER_SECONDS = 5.0
"""Delay of a job whose provider is not configured in this worker. Another worker may have the settings."""
MAX_ERROR_LENGTH = 500


class Heartbeat:
    """Renews a lease in its own thread and detects its loss."""

    # A job without progress for `stuck_seconds` fails. If its handler does not return within one more
    # lease, the process exits, and its supervisor restarts it.

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
        job_id = self._owner.job_id
        while not self._ended.wait(self._every) and not self.lost.is_set():
            try:
                if not jobs.heartbeat(self._graph, self._owner, stuck_seconds=self._stuck):
                    self.lost.set()
                    log.error("job is stuck", job_id=job_id, seconds=self._stuck)
                    if not self._ended.wait(self._owner.lease_seconds):
                        log.critical("worker stops: its job does not return", job_id=job_id)
                        self._leave(STUCK_EXIT_CODE)  # sys.exit would only end this thread
            except LeaseLost:
                self.lost.set()
            except Exception as error:  # noqa: BLE001 - a failed heartbeat must not end the thread
                log.warning("no heartbeat", job_id=job_id, reason=f"{type(error).__name__}: {error}")


class TimeSlice:
    def __init__(self, graph: Graph, kinds: Sequence[str], seconds: float) -> None:
        self._graph = graph
        self._kinds = kinds
        self._next_look = time.monotonic() + seconds

    def is_over(self, job: jobs.ClaimedJob) -> bool:
        now = time.monotonic()
        over = now >= self._next_look
        if over:
            self._next_look = now + ASK_SECONDS
        elif job.rank == FIRST:
            return False
        return jobs.should_yield(self._graph, job, self._kinds, over=over)


T = TypeVar("T")


class Stopped(KgError):
    """The worker is stopping, and another worker continues the job."""


class Yielded(KgError):
    """The time slice is over, and the job continues after others."""


class Paused(KgError):
    """The job waits for the work of other jobs."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class JobRun:
    """One run of a job by this worker, the interface for handlers."""

    # Every method that writes raises LeaseLost if another worker owns the job or the job has ended.

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
        self.job = job  # the claimed job, updated with later requests after `finish` returns False
        self.cursor = job.cursor
        self._graph = graph
        self._owner = owner
        self._stopping = stopping
        self._lost = lost
        self._turn = turn

    def checkpoint(self) -> None:
        """Raise LeaseLost, Stopped, or Yielded if the job must not continue. Call between batches."""
        self.require_running()
        if self._turn is not None and self._turn.is_over(self.job):
            raise Yielded

    def require_running(self) -> None:
        """Like `checkpoint`, raise LeaseLost or Stopped, but never Yielded: for work that must not yield."""
        self.require_lease()
        if self.is_stopping:
            raise Stopped

    def require_lease(self) -> None:
        """Raise LeaseLost if the lease is lost. Call while waiting for a batch."""
        if self._lost.is_set():
            raise LeaseLost(f"job {self.job.job_id} is owned by another worker now, or has ended")

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def pause(self, seconds: float) -> None:
        """Release the job for a while and keep its cursor, for example until its parts end."""
        raise Paused(seconds)

    def commit(self, work: Callable[[Transaction], T], *, after: str, done: int, set_aside: int = 0) -> T:
        """Write a batch and move the cursor in one transaction. Return the result of `work`."""

        def batch(tx: Transaction) -> T:
            written = work(tx)
            jobs.advance(tx, self._owner, before=self.cursor, after=after, done=done, set_aside=set_aside)
            return written

        written = self._graph.transaction(batch)
        self.cursor = after
        return written

    def expect(self, left: int) -> None:
        """Correct the total from the number of remaining items."""
        jobs.expect(self._graph, self._owner, left=left)

    def lower(self, rank: int) -> bool:
        """Lower the job's priority. Return False if new work was requested, which comes first."""
        job_request = jobs.lower(self._graph, self._owner, wanted=self.job.wanted, rank=rank)
        if isinstance(job_request, jobs.JobRequest):
            self._apply_request(job_request)
            return False
        self.job = replace(self.job, rank=job_request)
        return True

    def restart_work(self) -> None:
        self.commit(lambda _: None, after="", done=0)

    def divide(self, parts: Sequence[str], *, after: str) -> None:
        """Create part jobs for any worker. Their progress counts toward this job."""
        jobs.add_parts(self._graph, self._owner, self.job.kind, self.job.ontology or "", parts)
        self.commit(lambda _: None, after=after, done=0)

    def read_unfinished_parts(self) -> list[str]:
        return jobs.read_unfinished_parts(self._graph, self.job.job_id)

    def finish(self) -> bool:
        """End the job. Return False if new work was requested, so that another round is necessary."""
        # If items were rejected, the state is "succeeded with errors". Unfinished parts are cancelled.
        job_request = jobs.finish(self._graph, self._owner, wanted=self.job.wanted)
        if job_request is None:
            return True
        self._apply_request(job_request)
        self.cursor = ""
        return False

    def _apply_request(self, asked: jobs.JobRequest) -> None:
        updates = {"wanted": asked.wanted, "selection": asked.selection, "forced_at": asked.forced_at}
        self.job = replace(self.job, **updates)


class Handler(Protocol):
    @property
    def kind(self) -> str: ...

    def run(self, run: JobRun) -> None:
        """Process batches from `run.cursor` on, each with `run.commit`, until `run.finish()` returns True."""
        ...


def retry_delay(failures: int, jitter: float) -> float:
    """Return the seconds before the next attempt: 1, 2, 4, ... plus up to 25 % jitter, at most 300."""
    doubled = MIN_DELAY_SECONDS * 2 ** min(failures, 30)
    return min(doubled * (1 + jitter / 4), MAX_DELAY_SECONDS)


def _wait_seconds(job: jobs.ClaimedJob, error: KgError) -> float:
    """Return the seconds before a job retries that waits for a model or another worker."""
    if isinstance(error, ProviderMissing):
        return OTHER_WORKER_SECONDS
    delay = retry_delay(job.waits, random.random())  # noqa: S311 - jitter, not a secret
    retry_after = error.retry_after_seconds if isinstance(error, ModelUnavailable | TooBusy) else None
    return max(delay, retry_after or 0)


class Runner:
    """Runs jobs one after another until the stop event is set."""

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
        """Run jobs until the stop event is set. Wait while the database is unavailable."""
        while not self._stopping.is_set():
            try:
                worked = self.run_one()
            except DatabaseUnavailable as error:
                log.warning("waiting for the database", reason=str(error))
                worked = False
            if not worked:
                self._stopping.wait(self._settings.poll_seconds)

    def run_one(self) -> bool:
        """Claim and run a job. Return False if there is none."""
        job = jobs.claim(
            self._graph,
            self._worker,
            list(self._handlers),
            lease_seconds=self._settings.lease_seconds,
            max_failures=self._settings.max_failures,
        )
        if job is None:
            return False
        if job.state != "running":
            log.error("job failed permanently", job_id=job.job_id, kind=job.kind, failures=job.failures)
            return True
        caused_by = {"request_id": job.request_id} if job.request_id else {}
        about = {"kg__job_id": job.job_id, "kg__job_kind": job.kind}
        with (
            structlog.contextvars.bound_contextvars(job_id=job.job_id, kind=job.kind, **caused_by),
            root_span(f"job {job.kind}", SpanKind.CONSUMER, job.traceparent, **about) as span,
        ):
            owner = jobs.Owner(job.job_id, self._worker, job.fence, self._settings.lease_seconds)
            log.info("job taken", job_id=job.job_id, kind=job.kind, ontology=job.ontology, fence=job.fence)
            get_meters().count("job_runs_begun", job.kind)
            begun, outcome = time.perf_counter(), "interrupted"
            try:
                outcome = self._run(job, owner)
            finally:
                get_meters().count("job_runs", job.kind, outcome)
                get_meters().observe("job_run_seconds", job.kind, seconds=time.perf_counter() - begun)
            span.set_attribute("kg.job_outcome", outcome)
        return True

    def _run(self, job: jobs.ClaimedJob, owner: jobs.Owner) -> str:
        graph, settings = self._graph, self._settings
        about = {"job_id": job.job_id, "kind": job.kind}
        try:
            turn = TimeSlice(graph, list(self._handlers), settings.turn_seconds)
            stuck = settings.stuck_seconds
            with Heartbeat(graph, owner, settings.heartbeat_seconds, stuck_seconds=stuck) as beat:
                run = JobRun(graph, job, owner, stopping=self._stopping, lost=beat.lost, turn=turn)
                self._handlers[job.kind].run(run)
        except Stopped:
            jobs.give_back(graph, owner, keeps_place=True)
            log.info("job released", **about)
            outcome = "released"
        except Yielded:
            jobs.give_back(graph, owner)
            log.info("job yielded", **about)
            outcome = "yielded"
        except Paused as pause:
            jobs.give_back(graph, owner, delay_seconds=pause.seconds)
            log.debug("job pauses", **about, seconds=pause.seconds)
            outcome = "paused"
        except LeaseLost:
            outcome = self._describe_lost(job)
        except DatabaseUnavailable:
            raise
        except (Unavailable, ProviderMissing) as error:
            delay = _wait_seconds(job, error)
            message = f"waiting: {error}"[:MAX_ERROR_LENGTH]
            jobs.give_back(graph, owner, delay_seconds=delay, error=message)
            log.warning("job waits", **about, seconds=round(delay, 1), reason=str(error))
            outcome = "waits"
        except Exception as error:
            state = jobs.fail(
                graph,
                owner,
                f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH],
                delay_seconds=retry_delay(job.failures, random.random()),  # noqa: S311 - jitter
                max_failures=settings.max_failures,
                permanent=isinstance(error, InvalidInput | ConfigurationError),
            )
            log.exception("job failed", **about, state=state)
            outcome = "failed" if state == JobState.FAILED else "retried"
        else:
            log.info("job succeeded", **about)
            outcome = "succeeded"
        return outcome

    def _describe_lost(self, job: jobs.ClaimedJob) -> str:
        try:
            state = jobs.find_job(self._graph, job.job_id).state
        except NotFound:
            state = None
        if state is JobState.CANCELLED:
            log.info("job cancelled", job_id=job.job_id, kind=job.kind)
            return "cancelled"
        if state is JobState.FAILED:
            log.error("job failed permanently", job_id=job.job_id, kind=job.kind)
            return "failed"
        log.warning("job lost to another worker", job_id=job.job_id)
        return "lost"


class WorkerRegistration:
    """The periodic heartbeat of a worker, which also logs unknown kinds of jobs."""

    def __init__(self, graph: Graph, name: str, kinds: Sequence[str]) -> None:
        self._graph = graph
        self._name = name
        self._kinds = kinds
        self._told = set[str]()
        self._ended = False
        self._telling = threading.Lock()

    def report(self) -> None:
        """Send a heartbeat. Log each unknown kind of pending jobs once."""
        try:
            with self._telling:
                if not self._ended:
                    host, notes = socket.gethostname(), list_learned()
                    jobs.sign_of_life(self._graph, self._name, host=host, pid=os.getpid(), notes=notes)
            waiting = jobs.count_unknown_kinds(self._graph, self._kinds)
            for kind in sorted(waiting.keys() - self._told):
                self._told.add(kind)
                message = "unknown kind of job, left for a worker of another version"
                log.warning(message, kind=kind, waiting=waiting[kind])
        except DatabaseUnavailable as error:
            log.warning("no sign of life", reason=str(error))

    def end(self) -> None:
        """Remove the worker from the list."""
        with self._telling:  # so that a concurrent report does not add the worker again
            self._ended = True
        try:
            jobs.delete_worker(self._graph, self._name)
        except DatabaseUnavailable as error:
            log.warning("worker not unregistered", reason=str(error))


# Batches of pending items

LOOKED_SECONDS = 1.0  # interval between checks of the configuration


class Item(Protocol):
    @property
    def identity(self) -> str: ...

    @property
    def place(self) -> str: ...


ItemT = TypeVar("ItemT", bound=Item)


class CircuitState:
    """A check of a round's configuration, at most once per second until it changes."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds = holds
        self._current = True
        self._looked_at = time.monotonic()

    def __call__(self) -> bool:
        if self._current and time.monotonic() - self._looked_at > LOOKED_SECONDS:
            self._current = self._holds()
            self._looked_at = time.monotonic()
        return self._current


Next = Callable[[str, int], Sequence[ItemT]]
"""Returns the next items after a position, in order. "" is the start."""


def iterate_batches(place: str, due: Next[ItemT], size: int) -> Iterator[Sequence[ItemT]]:
    """Iterate over the items after a position in batches, each read on demand."""
    while batch := due(place, size):
        yield batch
        place = batch[-1].place
        if len(batch) < size:
            return


def format_cursor(name: str, item: Item) -> str:
    """Format the job cursor after an item of a target. The name must not contain a colon."""
    return f"{name}:{item.place}"


def parse_cursor_place(cursor: str, name: str) -> str:
    """Parse the position in the target with this name, or "" if the cursor is in another target."""
    before, _, place = cursor.partition(":")
    return place if before == name else ""


def run_rounds(run: JobRun, go_round: Callable[[], bool]) -> None:
    """Repeat rounds until no work is left and no new work was requested, then end the job."""
    while True:
        if go_round():
            run.restart_work()
        elif run.finish():
            return


# Parallel batches, returned in order

LOOK_SECONDS = 0.1  # interval to check the job while waiting for a batch
MAX_CHARACTERS = 4_000_000  # total text in flight. A larger batch runs separately
MAX_TOGETHER = 1000  # items per transaction across batches

BatchT = TypeVar("BatchT")
CompletedBatch = tuple[Sequence[ItemT], Callable[[], BatchT]]
"""The items of a batch, and a function that returns the result or raises the error."""


class BatchPipeline(Generic[ItemT, BatchT]):
    """Batches in flight: read ahead, processed in threads, and returned in order."""

    def __init__(
        self,
        run: JobRun,
        work: Callable[[Sequence[ItemT]], BatchT],
        *,
        at_once: int = 1,
        room: int,
        characters: Callable[[Sequence[ItemT]], int] = lambda _: 0,
        together: bool = False,
    ) -> None:
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
        """Abandon all batches in flight. Their results are not written, and their waits end."""
        self._ends.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def run(
        self, read: Iterator[Sequence[ItemT]], is_current: Callable[[], bool]
    ) -> Generator[list[CompletedBatch[ItemT, BatchT]]]:
        """Submit batches while `is_current` holds, and yield their results in order, some together."""
        # A job that stops or yields submits no more batches. Submitted batches are returned first.
        try:
            for due in read:
                while self._sent and not self._has_room(due):
                    yield self._await_first_batch()
                if not is_current():
                    break
                self._run.checkpoint()
                self._sent.append((due, self._pool.submit(copy_context().run, self._begin, due)))
        except (Stopped, Yielded) as end:
            self._end(end)
            while self._sent:
                yield self._await_first_batch()
            raise
        while self._sent:
            yield self._await_first_batch()

    def _has_room(self, due: Sequence[ItemT]) -> bool:
        characters = self._characters(due) + sum(self._characters(sent) for sent, _ in self._sent)
        return len(self._sent) < self._room and characters <= MAX_CHARACTERS

    def _begin(self, due: Sequence[ItemT]) -> BatchT:
        """Process a batch in a pool thread, unless the flight has already ended."""
        if self._ends.is_set() or self._run.is_stopping:
            raise RetryCancelled
        try:
            with cancel_waits_on(self._ends):
                return self._work(due)
        except (RejectedText, RetryCancelled):
            raise
        except BaseException as error:
            self._end(error)  # other batches would fail with the same error
            raise

    def _end(self, reason: BaseException) -> None:
        self._reason = self._reason or reason
        self._ends.set()

    def _await_first_batch(self) -> list[CompletedBatch[ItemT, BatchT]]:
        """Wait for the first batch while the lease holds. Return it with completed batches that follow."""
        due, done = self._sent.popleft()
        while not wait([done], LOOK_SECONDS).done:
            self._run.require_lease()
            if self._run.is_stopping:
                self._end(Stopped())
        landed, items = [(due, done)], len(due)
        while self._is_next_done(done) and items + len(self._sent[0][0]) <= MAX_TOGETHER:
            landed.append(self._sent.popleft())
            items += len(landed[-1][0])
        return [(due, partial(self._get_outcome, done)) for due, done in landed]

    def _is_next_done(self, first: Future[BatchT]) -> bool:
        """Check if the next batch can be written with the first. A failed batch is returned separately."""
        if not (self._together and self._sent):
            return False
        following = self._sent[0][1]
        return following.done() and not (first.exception() or following.exception())

    def _get_outcome(self, done: Future[BatchT]) -> BatchT:
        try:
            return done.result()
        except RetryCancelled:
            raise self._reason or Stopped() from None
