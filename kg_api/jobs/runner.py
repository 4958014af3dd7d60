"""The worker's loop: claim, run, again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence

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
from kg_api.graph.database import Graph
from kg_api.jobs.heartbeat import Heartbeat
from kg_api.jobs.run import Handler, JobRun, Paused, Stopped, Yielded
from kg_api.jobs.time_slice import TimeSlice
from kg_api.metrics.meters import meters
from kg_api.models.vocabulary import JobState
from kg_api.settings import WorkerSettings
from kg_api.tracing.spans import SpanKind, root_span

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
                self._run_traced(job)
        else:
            log.error("job is dead", job_id=job.job_id, kind=job.kind, failures=job.failures)
        return True

    def _took_one(self) -> bool:
        try:
            return self.run_one()
        except DatabaseUnavailable as error:
            log.warning("waiting for the database", reason=str(error))
            return False

    def _run_traced(self, job: jobs.ClaimedJob) -> None:
        about = {"kg__job_id": job.job_id, "kg__job_kind": job.kind}
        with root_span(f"job {job.kind}", SpanKind.CONSUMER, job.traceparent, **about) as span:
            span.set_attribute("kg.job_outcome", self._run(job))

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
            self._handle(job, owner)
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

    def _handle(self, job: jobs.ClaimedJob, owner: jobs.Owner) -> None:
        every, stuck = self._settings.heartbeat_seconds, self._settings.stuck_seconds
        turn = TimeSlice(self._graph, list(self._handlers), self._settings.turn_seconds)
        with Heartbeat(self._graph, owner, every, stuck_seconds=stuck) as beat:
            run = JobRun(self._graph, job, owner, stopping=self._stopping, lost=beat.lost, turn=turn)
            self._handlers[job.kind].run(run)

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
