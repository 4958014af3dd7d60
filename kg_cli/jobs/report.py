"""Jobs and their queue, printed for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.text import Text

from kg_api.client import KgClient
from kg_api.models.jobs import FINISHED, JOB_KINDS, Job, JobPage
from kg_api.models.queue import QueueStatus
from kg_api.models.vocabulary import JobState
from kg_cli.jobs.words import (
    FOLDER_SYNC,
    TOLD_BY,
    describe_set_aside,
    duration,
    moment,
    name_of,
    progress_of,
    rate,
    speed_of,
    state_of,
    waits_for,
)
from kg_cli.terminal import console

MAX_SET_ASIDE = 20
"""Items whose reason is printed."""
EMBEDDING_KINDS = frozenset({"source_embedding"})
MAX_ERROR_LENGTH = 200
"""Characters of an error in a list; `kg jobs show` gives all."""


def print_page(page: JobPage, *, kind: str | None) -> None:
    """Print a page of jobs, and whether there are more."""
    for note in page.notes:
        console.say(escape(note))
    print_jobs(page.jobs, kind)
    if page.total > len(page.jobs):
        console.say(f"{len(page.jobs)} of {page.total} shown; see more with --limit")


def print_jobs(jobs: Sequence[Job], kind: str | None = None) -> None:
    """Print a list; each id stands on a line of its own, so that it can be copied."""
    if jobs:
        console.print_table(["job", "state", "progress"], map(_row, jobs))
    elif kind is None or kind in JOB_KINDS:
        console.say("There are no such jobs.")
    else:
        kinds = ", ".join(JOB_KINDS)
        console.say(escape(f"There are no jobs of the kind {kind!r}; the kinds are {kinds}."))


def _row(job: Job) -> tuple[Text, str, str]:
    about = f"{name_of(job)}\n{moment(job.created_at)}"
    error = f"\n{job.error[:MAX_ERROR_LENGTH]}" if job.error else ""
    text = Text.assemble(job.job_id, (f"\n{about}", "dim"), (error, "red"), "\n")
    moving = f"\n{speed_of(job)}" if job.rate or job.set_aside or job.waits_for else ""
    return text, "stalled" if job.stalled else job.state.value.replace("_", " "), progress_of(job) + moving


def print_job(client: KgClient, job: Job) -> None:
    """Print all that a person may want to know of a job, and what can be done with it."""
    console.print_table(["", name_of(job)], _fields(job))
    if job.set_aside:
        _print_set_aside(client, job)
    for hint in _hints(job):
        console.say(f"-> {hint}")


def _fields(job: Job) -> Iterator[tuple[str, str | Text]]:
    yield "id", job.job_id
    yield "state", state_of(job)
    yield "progress", _progress(job)
    if job.selection and (job.selection != "due" or job.forced):
        yield "asked for", "everything anew" if job.forced else f"what is {job.selection}"
    yield "made", moment(job.created_at)
    if job.started_at:
        yield "started", moment(job.started_at)
    if job.finished_at:
        yield "ended", moment(job.finished_at)
    if job.expected_cost is not None or job.spent:
        expected = "" if job.expected_cost is None else f" of about ${job.expected_cost:.4f} expected"
        yield "spent", f"${job.spent or 0:.4f}{expected}"
    if job.worker:
        yield "worker", job.worker
    if job.attempts > 1:
        yield "turns", f"{job.attempts} (a worker works on a job for a while, then lets others go first)"
    if job.error:
        yield "error", Text(job.error, "red")


def _progress(job: Job) -> str:
    parts = [progress_of(job)]
    if job.state not in FINISHED and job.rate:
        parts.append(f"{rate(job.rate)}, about {duration(job.eta_seconds or 0)} left")
    if job.parts:
        parts.append(f"{job.parts} parts still to do")
    if job.set_aside:
        parts.append(f"{job.set_aside} set aside")
    return "; ".join(parts)


def _print_set_aside(client: KgClient, job: Job) -> None:
    """Print what could not be done, with the reasons."""
    places = _set_aside(client, job)
    if places:
        console.print_table(["set aside", "reason"], places[:MAX_SET_ASIDE])
    if len(places) != job.set_aside or len(places) > MAX_SET_ASIDE:
        console.say(escape(describe_set_aside(job)))


def _set_aside(client: KgClient, job: Job) -> list[tuple[str, str]]:
    """What is known of it now, by file or passage: a later job may have done some of it."""
    if job.kind == FOLDER_SYNC and job.state not in FINISHED:
        return []  # its folder still tells of the scan before
    if job.kind == FOLDER_SYNC:
        folders = client.folders().folders
        scans = [each.last_scan for each in folders if each.job_id == job.job_id and each.last_scan]
        return [(each.document, each.reason) for scan in scans for each in scan.refusals]
    if job.ontology is None or job.kind not in TOLD_BY:
        return []
    embedding = job.kind in EMBEDDING_KINDS
    found = client.refused(job.ontology) if embedding else client.extraction_refused(job.ontology)
    return [(f"{each.document} ¶{each.paragraph}", each.reason) for each in found.sources]


def _hints(job: Job) -> Iterator[str]:
    if job.state in (JobState.DEAD, JobState.CANCELLED, JobState.COMPLETED_WITH_ERRORS):
        yield f"try it again: kg jobs retry {job.job_id}"
    elif job.state not in FINISHED:
        yield f"follow it: kg jobs watch {job.job_id}"
        yield f"end it: kg jobs cancel {job.job_id}"


def print_cancelled(job: Job) -> None:
    """Say how far a cancelled job came, and how it goes on."""
    done = f"Cancelled; {progress_of(job)} were done"
    console.say(f"{done}. Go on with: kg jobs retry {escape(job.job_id)}")


def print_retried(job: Job) -> None:
    """Say how to follow a job that is tried again."""
    console.say(f"It is queued; follow it with: kg jobs watch {escape(job.job_id)}")


def print_queue(status: QueueStatus) -> None:
    """Print the queue's numbers and its workers."""
    console.print_table(["jobs", ""], _numbers(status))
    rows = [
        (
            worker.name,
            f"{duration(worker.seen_seconds_ago)} ago" + ("" if worker.alive else " (lost)"),
            worker.job or "-",
        )
        for worker in status.workers
    ]
    if rows:
        console.print_table(["worker", "last seen", "job"], rows)
    else:
        console.say("No worker is there: start one with `kg up`, or `kg worker` on a server.")
    print_dead(status.dead)


def _numbers(status: QueueStatus) -> Iterator[tuple[str, str]]:
    later = f", {status.waiting} of them tried again later" if status.waiting else ""
    yield "queued", f"{status.queued}{later}"
    yield "running", f"{status.running}" + (f", {status.stalled} stalled" if status.stalled else "")
    yield "failed in the last 24 h", str(status.dead)
    yield "longest wait", duration(status.oldest_waiting_seconds)
    yield "oldest unfinished", duration(status.backlog_age_seconds)
    for each in status.waits:
        yield name_of(each), waits_for(each.waits_for)
    if status.paused:
        yield "paused", ", ".join(status.paused)


def print_dead(dead: int) -> None:
    """Say that work was given up, if any was."""
    if dead:
        jobs = "a job has died" if dead == 1 else f"{dead} jobs have died"
        console.say(f"Within a day {jobs}; why: kg jobs list --state dead")
