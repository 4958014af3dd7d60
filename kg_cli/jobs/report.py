"""Descriptions, live bars and tables of jobs, and functions that wait for jobs."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TypeVar

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Column
from tenacity import RetryCallState

from kg_api.client import KgClient
from kg_api.errors import KgError, Unavailable
from kg_api.evaluation.run import retry_call
from kg_api.schemas.documents import EmbeddingStatus
from kg_api.schemas.operations import FINISHED, JOB_KINDS, Job, JobPage, QueueStatus
from kg_api.schemas.vocabulary import JobState
from kg_api.wording import pluralize
from kg_cli.terminal import console
from kg_cli.terminal.answers import SHORT_ID
from kg_cli.terminal.console import Shown

MINUTE, HOUR, DAY = 60, 3600, 86400
EMBEDDING, PICTURES, FOLDER_SYNC = "source_embedding", "image_embedding", "folder_sync"
FOLDERS = "kg folders list"
# command that lists the currently failed items of a kind of jobs
TOLD_BY = {
    FOLDER_SYNC: FOLDERS,
    EMBEDDING: "kg admin source-embeddings rejected",
    "concept_extraction": "kg admin concepts rejected",
}


def get_name(job: Job) -> str:
    return f"{job.kind.replace('_', ' ')} {job.ontology or ''}".strip()


def describe_failed_items(job: Job) -> str:
    """Count failed items, and name the command that lists them. The job itself is deleted later."""
    noun = "file" if job.kind == FOLDER_SYNC else "item"
    place = "" if job.ontology is None else f" --ontology {job.ontology!r}"
    see = TOLD_BY.get(job.kind)
    where = f"kg jobs show {job.job_id}" if see is None else f"{see}{'' if see == FOLDERS else place}"
    return f"{get_name(job)}: {pluralize(job.set_aside, noun)} failed; see: {where}"


def describe_state(job: Job) -> str:
    """Describe the state of a job with the reason for a wait."""
    if job.stalled:
        return "stalled: its worker sends no heartbeat"
    if job.state is JobState.QUEUED and (seconds := _count_seconds_until(job.run_after)) > 1:
        return f"queued, retried in {format_duration(seconds)}"
    return job.state.value.replace("_", " ")


def format_progress(job: Job) -> str:
    return f"{job.done}/{get_total(job)}"


def get_total(job: Job) -> int:
    return max(job.total, job.done)


def describe_speed(job: Job) -> str:
    """Describe the rate and the time left, or a short reason if both are unknown."""
    if job.state in FINISHED:
        return f"{job.set_aside} failed" if job.set_aside else job.state.value
    if job.stalled:
        return "stalled"
    if job.rate:
        return f"{format_rate(job.rate)}, {format_duration(job.eta_seconds or 0)} left"
    return "waits for a retry" if job.error and job.state is JobState.QUEUED else job.state.value


def format_rate(items_a_second: float) -> str:
    """Return a rate such as 12/s or 0.4/s."""
    return f"{items_a_second:.0f}/s" if items_a_second >= 10 else f"{items_a_second:.2g}/s"  # noqa: PLR2004


def format_duration(seconds: float) -> str:
    """Return a duration such as 40 s, 3 min, 5 h or 2 days."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.0f} h" if seconds < 2 * DAY else f"{seconds / DAY:.0f} days"


def format_moment(time: dt.datetime) -> str:
    """Return a time and its distance from now."""
    return f"{time.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC ({format_distance(time)})"


def format_distance(time: dt.datetime) -> str:
    seconds = -_count_seconds_until(time)
    return f"{format_duration(seconds)} ago" if seconds >= 0 else f"in {format_duration(-seconds)}"


def _count_seconds_until(time: dt.datetime) -> float:
    return (time - dt.datetime.now(tz=dt.UTC)).total_seconds()


# Live bars within 80 columns. A longer reason is printed once on its own line.


class JobBars(Progress):
    """A bar for each job. Use as a context manager."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn(
                "{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=30)
            ),
            BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=5)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[speed]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console.stderr(),
            expand=True,
        )
        self._bars: dict[str, TaskID] = {}
        self._told: dict[str, str | None] = {}

    def show(self, job: Job) -> None:
        if job.job_id not in self._bars:
            self._bars[job.job_id] = self.add_task(escape(get_name(job)), total=None, speed="")
        reason = job.error if job.state not in FINISHED else None
        if reason and reason != self._told.get(job.job_id):
            console.say(f"{get_name(job)}: {reason}")
        self._told[job.job_id] = reason
        self.update(
            self._bars[job.job_id], completed=job.done, total=get_total(job), speed=describe_speed(job)
        )


class ActiveJobBars(JobBars):
    """Bars for jobs that have not already ended, because an ingestion can start hundreds of quick jobs."""

    def show(self, job: Job) -> None:
        if job.state not in DONE or job.job_id in self._bars:
            super().show(job)


# Tables of jobs and the queue

MAX_SET_ASIDE = 20
NO_WORKER = "No worker is running: start one with `kg up`, or `kg worker` on a server."
MAX_ERROR_LENGTH = 200  # characters of an error in a list: `kg jobs show` prints the whole error


def print_page(page: JobPage, kind: str | None) -> None:
    console.note(*page.notes)
    print_jobs(page.jobs, kind)
    if page.total > len(page.jobs):
        console.say(f"{len(page.jobs)} of {page.total} jobs shown. To show more, raise --limit")


def print_jobs(jobs: Sequence[Job], kind: str | None = None) -> None:
    has_errors = any(each.error for each in jobs)
    rows: list[list[Shown]] = []
    for job in jobs:
        state = "stalled" if job.stalled else job.state.value.replace("_", " ")
        moving = job.rate or job.set_aside
        progress = f"{format_progress(job)}, {describe_speed(job)}" if moving else format_progress(job)
        error = [[((job.error or "")[:MAX_ERROR_LENGTH], "red")]] if has_errors else []
        rows.append(
            [job.job_id[:SHORT_ID], get_name(job), state, progress, format_distance(job.created_at), *error]
        )
    if rows:
        columns = ["job", "work", "state", "progress", "created", *(["error"] if has_errors else [])]
        console.print_table(columns, rows)
    elif kind is None or kind in JOB_KINDS:
        console.say("There are no such jobs.")
    else:
        console.say(f"no jobs of the kind {kind!r}. Kinds: {', '.join(JOB_KINDS)}.")


def print_job(job: Job, kg: KgClient) -> None:
    console.print_table(["", get_name(job)], _format_fields(job))
    if job.set_aside:
        places = _list_failed_items(kg, job)
        if places:
            console.print_table(["failed", "reason"], places[:MAX_SET_ASIDE])
        if len(places) != job.set_aside or len(places) > MAX_SET_ASIDE:
            console.say(describe_failed_items(job))
    if job.state in (JobState.FAILED, JobState.CANCELLED, JobState.SUCCEEDED_WITH_ERRORS):
        console.say(f"-> retry it: kg jobs retry {job.job_id}")
    elif job.state not in FINISHED:
        console.say(f"-> follow it: kg jobs watch {job.job_id}")
        console.say(f"-> end it: kg jobs cancel {job.job_id}")


def _format_fields(job: Job) -> Iterator[tuple[str, Shown]]:
    yield "id", job.job_id
    yield "state", describe_state(job)
    moving = job.state not in FINISHED and job.rate
    parts = [
        format_progress(job),
        *([f"{format_rate(moving)}, about {format_duration(job.eta_seconds or 0)} left"] if moving else []),
    ]
    parts += [f"{job.parts} parts still to do"] if job.parts else []
    yield "progress", "; ".join([*parts, *([f"{job.set_aside} failed"] if job.set_aside else [])])
    if job.selection and (job.selection != "due" or job.forced):
        yield "selection", "everything" if job.forced else job.selection
    for name, at in (("created", job.created_at), ("started", job.started_at), ("ended", job.finished_at)):
        if at:
            yield name, format_moment(at)
    if job.spent:
        yield "spent", f"${job.spent:.4f}"
    if job.worker:
        yield "worker", job.worker
    if job.attempts > 1:
        yield "time slices", f"{job.attempts} (a worker yields a long job to others)"
    if job.error:
        yield "error", [(job.error, "red")]


def _list_failed_items(client: KgClient, job: Job) -> list[tuple[str, str]]:
    """List the files or passages that currently fail. A later job may have completed some of them."""
    if job.kind == FOLDER_SYNC:
        if job.state not in FINISHED:
            return []  # the folder still shows the previous scan
        folders = client.folders().folders
        scans = [each.last_scan for each in folders if each.job_id == job.job_id and each.last_scan]
        return [(each.document, each.reason) for scan in scans for each in scan.refusals]
    if job.ontology is None or job.kind not in TOLD_BY:
        return []
    list_rejected = client.rejected if job.kind == EMBEDDING else client.extraction_rejected
    found = list_rejected(job.ontology)
    return [(f"{each.document} ¶{each.paragraph}", each.reason) for each in found.sources]


def print_queue(status: QueueStatus) -> None:
    later = f", {status.waiting} of them retried later" if status.waiting else ""
    rows = [
        ("queued", f"{status.queued}{later}"),
        ("running", f"{status.running}" + (f", {status.stalled} stalled" if status.stalled else "")),
        ("failed in the last 24 h", str(status.failed)),
        ("longest wait", format_duration(status.oldest_waiting_seconds)),
        ("oldest unfinished", format_duration(status.backlog_age_seconds)),
        *([("paused", ", ".join(status.paused))] if status.paused else []),
    ]
    console.print_table(["jobs", ""], rows)
    workers: list[tuple[str, str, str]] = []
    for each in status.workers:
        lost = "" if each.alive else " (lost)"
        workers.append((each.name, f"{format_duration(each.seen_seconds_ago)} ago{lost}", each.job or "-"))
    if workers:
        console.print_table(["worker", "last heartbeat", "job"], workers)
    else:
        console.say(NO_WORKER)
    print_failed(status.failed)


def print_failed(failed: int) -> None:
    if failed:
        console.say(
            f"{pluralize(failed, 'job')} failed within a day. For the reasons: kg jobs list --state failed"
        )


def report_failed_jobs(client: KgClient, ontology: str | None) -> None:
    """Count failed jobs without the queue, which keys of some ontologies cannot see."""
    if failed := client.jobs(state="failed", ontology=ontology, limit=1).total:
        within = "" if ontology is None else f" --ontology {ontology!r}"
        reasons = f"kg jobs list --state failed{within}"
        console.say(f"{pluralize(failed, 'earlier job')} failed. For the reasons: {reasons}")


# Waiting for jobs and for an unavailable service

T = TypeVar("T")

POLL_SECONDS = 0.5
BACKFILL_SECONDS = 90.0  # longer than the interval of the scheduler, which creates missing jobs
AWAY_SECONDS = 90.0  # maximum outage of the service or database: a killed Neo4j takes a minute
PATIENCE_SECONDS = 20.0  # after this time in the queue, print the reason
DONE = frozenset({JobState.SUCCEEDED, JobState.SUCCEEDED_WITH_ERRORS})


class JobFailed(KgError):
    """The job did not complete."""


def retry_while_unavailable(call: Callable[[], T]) -> T:
    """Call the service and retry while it is unavailable. The call must be idempotent."""
    return retry_call(call, (Unavailable,), AWAY_SECONDS, POLL_SECONDS * 2, _print_once)


def _print_once(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome is not None:
        console.say(f"retrying: {state.outcome.exception()!s}")


def list_unfinished_jobs(
    client: KgClient, *, kind: str | None = None, ontology: str | None = None
) -> list[str]:
    chosen = partial(client.jobs, kind=kind, ontology=ontology, limit=1000)
    # the order in which a job changes its state
    pages = [chosen(state=state) for state in ("queued", "running")]
    return list(dict.fromkeys(job.job_id for page in pages for job in page.jobs))


def wait_for_jobs(client: KgClient, job_ids: Sequence[str], bars: JobBars | None = None) -> None:
    """Wait until the jobs have ended, with a bar for each."""
    impatience = threading.Timer(PATIENCE_SECONDS, explain_wait, [client])
    impatience.daemon = True
    impatience.start()
    with ExitStack() as ending, bars or JobBars() as shown:
        ending.callback(impatience.cancel)

        def show(job: Job) -> None:
            if job.state is not JobState.QUEUED:
                impatience.cancel()
            shown.show(job)

        ended = _follow(client, job_ids, show)
    for job in ended:
        if job.set_aside:
            console.say(describe_failed_items(job))
    if failed := [job for job in ended if job.state not in DONE]:
        raise JobFailed("\n".join(map(_describe_failure, failed)))


def explain_wait(client: KgClient) -> None:
    with suppress(KgError):  # the caller reports it
        if any(each.alive for each in client.queue().workers):
            console.say("The worker is busy with other jobs: kg jobs queue")
        else:
            console.say(NO_WORKER)


def wait_until_embedded(client: KgClient, ontology: str, job_ids: Sequence[str]) -> None:
    """Wait until every source and image of an ontology is embedded, by any job.

    During a build, wait only until searches find everything. The build continues in the background.
    """
    has_reported = False
    while (status := _read_status(client, ontology)).building and _count_missing_sources(status):
        if not has_reported:
            console.say(f"{ontology} is being rebuilt. Waiting until searches find the new sources.")
            has_reported = True
        time.sleep(POLL_SECONDS)
    if not status.building:
        wait_for_jobs(client, job_ids, ActiveJobBars() if len(job_ids) > 1 else JobBars())
    found = retry_while_unavailable(lambda: client.embedding_config(ontology))
    if found.paused or not found.config.embed_on_ingest:
        command = f"kg admin source-embeddings generate --ontology {ontology!r}"
        why = "paused, because its job was cancelled" if found.paused else "off at ingestion"
        console.say(f"Embedding of {ontology!r} is {why}. Start it with: {command}")
        return
    quiet_since = time.monotonic()
    for kind, noun, missing_of in (
        (EMBEDDING, "source", _count_missing_sources),
        (PICTURES, "image", _count_missing_images),
    ):
        while missing := missing_of(_read_status(client, ontology)):
            if more := list_unfinished_jobs(client, kind=kind, ontology=ontology):
                wait_for_jobs(client, more)
                quiet_since = time.monotonic()
                continue
            last = client.jobs(kind=kind, ontology=ontology, limit=1).jobs
            died = bool(last) and last[0].state is JobState.FAILED
            if died or time.monotonic() - quiet_since > BACKFILL_SECONDS:
                why = (
                    _describe_failure(last[0])
                    if died
                    else "no job is embedding them: `kg jobs list` shows the reason"
                )
                raise JobFailed(f"{pluralize(missing, noun)} without a vector: {why}")
            time.sleep(POLL_SECONDS)


def _read_status(client: KgClient, ontology: str) -> EmbeddingStatus:
    return retry_while_unavailable(lambda: client.embedding_status(ontology))


def _count_missing_images(status: EmbeddingStatus) -> int:
    return status.images.missing if status.images else 0


def _count_missing_sources(status: EmbeddingStatus) -> int:
    """Count sources without a current vector, or during a build without an active one."""
    if status.building:
        return status.total - status.searchable - status.refused
    return status.missing + status.stale


def _follow(client: KgClient, job_ids: Sequence[str], show: Callable[[Job], None]) -> list[Job]:
    """Show jobs until all have ended, and return them."""
    ended: dict[str, Job] = {}
    while left := [each for each in dict.fromkeys(job_ids) if each not in ended]:
        for job_id in left:
            job = retry_while_unavailable(partial(client.job, job_id))
            show(job)
            if job.state in FINISHED:
                ended[job_id] = job
        if len(ended) < len({*job_ids}):
            time.sleep(POLL_SECONDS)
    return [*ended.values()]


def _describe_failure(job: Job) -> str:
    reason = job.error or "no reason is recorded"
    if job.state is JobState.FAILED:
        return f"job {job.job_id} failed: {reason}\nAfter the fix: kg jobs retry {job.job_id}"
    return f"job {job.job_id} is {job.state}: {reason}"
