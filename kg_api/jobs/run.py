"""One run of a job by this worker: its lease, its cursor, its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

import structlog

from kg_api.errors import KgError, LeaseLost
from kg_api.graph import jobs
from kg_api.graph.database import Graph, Transaction

log = structlog.get_logger()


class Stopped(KgError):
    """The worker was told to stop; the job goes on elsewhere."""


class Heartbeat:
    """Renews a lease in a thread of its own, and notices when it is lost."""

    def __init__(self, graph: Graph, owner: jobs.Owner, every_seconds: float) -> None:
        self._graph = graph
        self._owner = owner
        self._every = every_seconds
        self._ended = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._every) and not self.lost.is_set():
            try:
                jobs.heartbeat(self._graph, self._owner)
            except LeaseLost:
                self.lost.set()
            except Exception as error:  # noqa: BLE001 - the border of a thread: one bad beat must not be the last
                log.warning(
                    "no heartbeat", job_id=self._owner.job_id, reason=f"{type(error).__name__}: {error}"
                )


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
    ) -> None:
        self.job = job
        self.cursor = job.cursor
        self._wanted = job.wanted
        self._graph = graph
        self._owner = owner
        self._stopping = stopping
        self._lost = lost

    def checkpoint(self) -> None:
        """Call between batches.

        Raises:
            Stopped: the worker shall end.
            LeaseLost: another worker has the job.
        """
        if self._lost.is_set():
            raise LeaseLost(f"job {self.job.job_id} has another owner now")
        if self._stopping.is_set():
            raise Stopped

    def commit(self, work: Callable[[Transaction], None], *, after: str, done: int) -> None:
        """Do a batch's writes and move the cursor in one transaction.

        Args:
            work: the batch's writes; it may run twice, so it must be safe to repeat.
            after: the new cursor.
            done: how many items the batch stands for.

        Raises:
            LeaseLost: another worker has the job; nothing was written.
        """

        def batch(tx: Transaction) -> None:
            work(tx)
            jobs.advance(tx, self._owner, before=self.cursor, after=after, done=done)

        self._graph.transaction(batch)
        self.cursor = after

    def begin_anew(self) -> None:
        """Move the cursor back to the beginning.

        Raises:
            LeaseLost: another worker has the job.
        """
        self.commit(lambda _: None, after="", done=0)

    def finish(self) -> bool:
        """End the job; False when more work was asked for meanwhile and the handler has to go round again.

        Raises:
            LeaseLost: another worker has the job.
        """
        wanted = jobs.finish(self._graph, self._owner, wanted=self._wanted)
        if wanted is None:
            return True
        self._wanted, self.cursor = wanted, ""
        return False


class Handler(Protocol):
    """What runs jobs of one kind. It ends with `run.finish()` having given True."""

    @property
    def kind(self) -> str:
        """The kind of job."""
        ...

    def run(self, run: JobRun) -> None:
        """Work from `run.cursor` on, in batches, each through `run.commit`."""
        ...
