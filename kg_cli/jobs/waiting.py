"""Waiting: for jobs, with live bars, and for a service that is away for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeVar

from rich.markup import escape
from tenacity import RetryCallState

from kg_api.client import KgClient
from kg_api.errors import KgError, TooBusy, Unavailable
from kg_api.evaluate.patience import ask_again
from kg_api.models.jobs import FINISHED, Job
from kg_api.models.vocabulary import JobState
from kg_api.wording.plural import pluralize
from kg_cli.jobs.bars import JobBars
from kg_cli.jobs.words import describe_set_aside
from kg_cli.terminal import console

T = TypeVar("T")

PICTURES = "image_embedding"
POLL_SECONDS = 0.5
BACKFILL_SECONDS = 90.0
"""Longer than a tick of the schedule, which asks for what is missing without a job."""
AWAY_SECONDS = 90.0
"""How long a service or database may be away in the middle of something: a killed Neo4j takes a minute."""
PATIENCE_SECONDS = 20.0
"""After this long without a worker taking a job, the person is told."""
DONE = frozenset({JobState.COMPLETED, JobState.COMPLETED_WITH_ERRORS})


class JobFailed(KgError):
    """The job did not come to its end."""


def patiently(call: Callable[[], T]) -> T:
    """Call the service, again and again while a part of it is away; the call must be safe to repeat.

    Raises:
        Unavailable: it stays away.
    """
    return ask_again(call, (Unavailable,), AWAY_SECONDS, POLL_SECONDS * 2, _print_once)


def _print_once(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome is not None:
        console.say(f"trying again: {escape(str(state.outcome.exception()))}")


def unfinished_jobs(client: KgClient, *, kind: str | None = None, ontology: str | None = None) -> list[str]:
    """Give the ids of the jobs that run or wait."""
    chosen = partial(client.jobs, kind=kind, ontology=ontology, limit=1000)
    pages = [chosen(state=state) for state in ("queued", "running")]  # the way a job goes
    return list(dict.fromkeys(job.job_id for page in pages for job in page.jobs))


def wait_for_jobs(client: KgClient, job_ids: Sequence[str]) -> list[Job]:
    """Wait until all these jobs have ended, with a bar for each.

    Returns:
        The jobs at their end.

    Raises:
        JobFailed: one is dead or cancelled; the message gives its reason.
    """
    with JobBars() as bars, _impatience() as taken:

        def show(job: Job) -> None:
            if job.state is not JobState.QUEUED or (job.waits_for and job.waits_for.rate):
                taken()
            bars.show(job)

        ended = _follow(client, job_ids, show)
    for job in ended:
        if job.set_aside:
            console.say(escape(describe_set_aside(job)))
    if failed := [job for job in ended if job.state not in DONE]:
        raise JobFailed("\n".join(map(_why, failed)))
    return ended


def wait_until_embedded(client: KgClient, ontology: str, job_ids: Sequence[str]) -> None:
    """Wait until no source of an ontology lacks its vector, whichever jobs it takes.

    Raises:
        JobFailed: a job is dead or cancelled, or vectors are missing and no job is there to make them.
    """
    _wait_during_a_build(client, ontology)
    if not patiently(lambda: client.embedding_status(ontology)).building:
        wait_for_jobs(client, job_ids)
    found = patiently(lambda: client.embedding_config(ontology))
    if found.paused or not found.config.embed_on_ingest:
        command = f"kg admin source-embeddings generate --ontology {ontology!r}"
        why = "paused, for its job was cancelled" if found.paused else "off at ingestion"
        console.say(f"Embedding of {ontology!r} is {why}. Start it with: {command}")
        return
    quiet_since = time.monotonic()
    while missing := _missing(client, ontology):
        if more := unfinished_jobs(client, kind="source_embedding", ontology=ontology):
            wait_for_jobs(client, more)
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > BACKFILL_SECONDS:
            raise JobFailed(
                f"{missing} sources lack their vector and no job is embedding them: `kg jobs list` says why"
            )
        time.sleep(POLL_SECONDS)
    _wait_for_pictures(client, ontology)


def _wait_for_pictures(client: KgClient, ontology: str) -> None:
    """Wait until no picture lacks its vector, whichever jobs it takes.

    Raises:
        JobFailed: the last job died, or pictures lack their vector and no job is there to make it.
    """
    quiet_since = time.monotonic()
    while True:
        if more := unfinished_jobs(client, kind=PICTURES, ontology=ontology):
            wait_for_jobs(client, more)
            quiet_since = time.monotonic()
        if not (left := _without_vector(client, ontology)):
            return
        last = client.jobs(kind=PICTURES, ontology=ontology, limit=1).jobs
        died = bool(last) and last[0].state is JobState.DEAD
        if died or time.monotonic() - quiet_since > BACKFILL_SECONDS:
            why = _why(last[0]) if died else "no job is embedding them: `kg jobs list` says why"
            raise JobFailed(f"{pluralize(left, 'picture')} without a vector in the space of pictures: {why}")
        time.sleep(POLL_SECONDS)


def _without_vector(client: KgClient, ontology: str) -> int:
    counted = patiently(lambda: client.embedding_status(ontology)).images
    return counted.missing if counted else 0


def _missing(client: KgClient, ontology: str) -> int:
    """Sources that are not embedded as they shall be; while others are built beside, as they answer."""
    status = patiently(lambda: client.embedding_status(ontology))
    if status.building:
        return status.total - status.searchable - status.refused
    return status.missing + status.stale


def _wait_during_a_build(client: KgClient, ontology: str) -> None:
    """Wait until what answers is complete; the job that is at it goes on with what is built beside."""
    told = False
    while patiently(lambda: client.embedding_status(ontology)).building and _missing(client, ontology):
        if not told:
            console.say(f"{ontology} is being built anew; waiting until what is new is found meanwhile.")
            told = True
        time.sleep(POLL_SECONDS)


def _follow(client: KgClient, job_ids: Sequence[str], show: Callable[[Job], None]) -> list[Job]:
    """Show jobs whenever they change until all have ended: by events, or by asking where there are none."""
    ended: dict[str, Job] = {}

    def report(job: Job) -> None:
        show(job)
        if job.state in FINISHED:
            ended[job.job_id] = job

    events = True
    while True:
        for job_id in dict.fromkeys(job_ids):
            if job_id not in ended:
                report(patiently(partial(client.job, job_id)))
        left = {*job_ids} - ended.keys()
        if not left:
            return [ended[job_id] for job_id in job_ids]
        events = events and _listen(client, left, report)
        if left - ended.keys():
            time.sleep(POLL_SECONDS)


def _listen(client: KgClient, job_ids: set[str], tell: Callable[[Job], None]) -> bool:
    """Tell what the service's events say until these jobs have ended; whether listening again makes sense."""
    left = set(job_ids)
    events = client.follow_job(next(iter(left))) if len(left) == 1 else client.follow_jobs()
    try:
        with closing(events):
            for job in events:
                if job.job_id in left:
                    tell(job)
                    left -= {job.job_id} if job.state in FINISHED else set()
                if not left:
                    break
    except TooBusy:
        return False
    except Unavailable:  # whoever asks for the job now is told what is the matter
        pass
    except KgError:  # a service that is older than its events
        return False
    return True


def _why(job: Job) -> str:
    reason = job.error or "no reason is recorded"
    told = f"job {job.job_id} is {job.state}: {reason}"
    if job.state is JobState.DEAD:
        return f"{told}\nWhen that is mended: kg jobs retry {job.job_id}"
    return told


@contextmanager
def _impatience() -> Generator[Callable[[], None]]:
    """Tell the person when no job is taken for a while; the function that is given says that one was."""
    hint = "No worker has taken the job yet. Is one running? `kg status` and `kg jobs queue` show it."
    timer = threading.Timer(PATIENCE_SECONDS, console.say, [hint])
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()
