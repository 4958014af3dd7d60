"""Waiting: for jobs, with a live bar, and for a service that is away for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from kg_api.client import KgClient
from kg_api.errors import KgError, Unavailable
from kg_api.models.jobs import FINISHED, Job, JobState
from kg_cli import console

T = TypeVar("T")

POLL_SECONDS = 0.5
BACKFILL_SECONDS = 90.0
"""Longer than a tick of the schedule, which asks for what is missing without a job."""
AWAY_SECONDS = 90.0
"""How long a service or database may be away in the middle of something: a killed Neo4j takes a minute."""
PATIENCE_SECONDS = 20.0
"""After this long without a worker taking the job, the person is told."""


class JobFailed(KgError):
    """The job did not come to its end."""


def patiently(call: Callable[[], T]) -> T:
    """Call the service, again and again while a part of it is away; the call must be safe to repeat.

    Raises:
        Unavailable: it stays away.
    """
    again = retry_if_exception_type(Unavailable)
    stop, pause = stop_after_delay(AWAY_SECONDS), wait_fixed(POLL_SECONDS * 2)
    return Retrying(retry=again, stop=stop, wait=pause, before_sleep=_tell_once, reraise=True)(call)


def _tell_once(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome is not None:
        console.say(f"trying again: {escape(str(state.outcome.exception()))}")


def unfinished_jobs(client: KgClient, *, kind: str | None = None, ontology: str | None = None) -> list[str]:
    """Give the ids of the jobs that run or wait."""
    chosen = partial(client.jobs, kind=kind, ontology=ontology, limit=1000)
    pages = [chosen(state=state) for state in ("queued", "running")]  # the way a job goes
    return list(dict.fromkeys(job.job_id for page in pages for job in page.jobs))


def wait_for_jobs(client: KgClient, job_ids: Sequence[str]) -> list[Job]:
    """Wait until all these jobs have ended.

    Returns:
        The jobs at their end.

    Raises:
        JobFailed: one is dead or cancelled; the message gives its reason.
    """
    with _bars() as bars:
        tasks = {job_id: bars.add_task("embedding", total=None, speed="") for job_id in job_ids}
        ended = [_wait(client, job_id, bars, tasks[job_id]) for job_id in job_ids]
    for job in ended:
        if job.state is not JobState.COMPLETED:
            raise JobFailed(f"job {job.job_id} is {job.state}: {job.error or 'no reason is recorded'}")
    return ended


def wait_until_embedded(client: KgClient, ontology: str, job_ids: Sequence[str]) -> None:
    """Wait until no source of an ontology lacks its vector, whichever jobs it takes.

    Raises:
        JobFailed: a job is dead or cancelled, or vectors are missing and no job is there to make them.
    """
    wait_for_jobs(client, job_ids)
    if not patiently(lambda: client.embedding_config(ontology)).config.embed_on_ingest:
        command = f"kg admin source-embeddings generate --ontology {ontology!r}"
        console.say(f"Embedding at ingestion is off for {ontology!r}. Start it with: {command}")
        return
    quiet_since = time.monotonic()
    while missing := _missing(client, ontology):
        if more := unfinished_jobs(client, ontology=ontology):
            wait_for_jobs(client, more)
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > BACKFILL_SECONDS:
            raise JobFailed(
                f"{missing} sources lack their vector and no job is at it: `kg jobs list` says why"
            )
        time.sleep(POLL_SECONDS)


def _missing(client: KgClient, ontology: str) -> int:
    status = patiently(lambda: client.embedding_status(ontology))
    return status.missing + status.stale


def _wait(client: KgClient, job_id: str, bars: Progress, task: TaskID) -> Job:
    begun, told = time.monotonic(), False
    while (job := patiently(lambda: client.job(job_id))).state not in FINISHED:
        bars.update(task, completed=job.done, total=job.total, description=_name(job), speed=_speed(job))
        if job.state is JobState.QUEUED and not told and time.monotonic() - begun > PATIENCE_SECONDS:
            console.say("No worker has taken the job yet. Is one running? `kg status` shows it.")
            told = True
        time.sleep(POLL_SECONDS)
    bars.update(task, completed=job.done, total=job.total, description=_name(job), speed="")
    return job


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        console=console.stderr(),
    )


def _name(job: Job) -> str:
    return f"{job.kind.replace('_', ' ')} {job.ontology or ''}".strip()


def _speed(job: Job) -> str:
    if job.error and job.state is JobState.QUEUED:
        return f"waits to try again: {job.error[:80]}"
    if not job.rate:
        return str(job.state)
    return f"{job.rate:.0f}/s, {job.eta_seconds or 0:.0f} s to go"
