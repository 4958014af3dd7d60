"""One run of a job by this worker: its lease, its cursor, its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from kg_api.errors import KgError, LeaseLost
from kg_api.graph import jobs
from kg_api.graph.database import Graph, Transaction
from kg_api.jobs.time_slice import TimeSlice

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
