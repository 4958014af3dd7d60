"""How jobs are put into words, the same in lists, bars and reports."""

from __future__ import annotations

import datetime as dt

from kg_api.models.jobs import FINISHED, Job, JobAhead
from kg_api.models.queue import JobWaiting
from kg_api.models.vocabulary import JobState
from kg_api.wording.plural import pluralize

MINUTE, HOUR, DAY = 60, 3600, 86400
FOLDER_SYNC = "folder_sync"
FOLDERS = "kg folders list"
TOLD_BY = {
    FOLDER_SYNC: FOLDERS,
    "source_embedding": "kg admin source-embeddings refused",
    "concept_extraction": "kg admin concepts refused",
}
"""Which command tells what jobs of a kind could not do, for as long as it is so."""


def name_of(job: Job | JobAhead | JobWaiting) -> str:
    """What it does, and for which ontology."""
    return f"{job.kind.replace('_', ' ')} {job.ontology or ''}".strip()


def describe_set_aside(job: Job) -> str:
    """How many items could not be done, and what tells which: of the ontology or folder, as jobs go away."""
    noun = "file" if job.kind == FOLDER_SYNC else "item"
    place = "" if job.ontology is None else f" --ontology {job.ontology!r}"
    see = TOLD_BY.get(job.kind)
    where = f"kg jobs show {job.job_id}" if see is None else f"{see}{'' if see == FOLDERS else place}"
    return f"{name_of(job)}: {pluralize(job.set_aside, noun)} could not be done; see: {where}"


def state_of(job: Job) -> str:
    """Its state, and whether it waits for something."""
    if job.stalled:
        return "stalled: its worker gives no sign of life"
    if job.state is JobState.QUEUED and (seconds := _seconds_to(job.run_after)) > 1:
        return f"queued, tried again in {duration(seconds)}"
    if job.waits_for:
        return f"queued, {waits_for(job.waits_for)}"
    return job.state.value.replace("_", " ")


def progress_of(job: Job | JobAhead) -> str:
    """Done and total; done is never above it."""
    return f"{job.done}/{total_of(job)}"


def total_of(job: Job | JobAhead) -> int:
    return max(job.total, job.done)


def speed_of(job: Job) -> str:
    """Rate and time to go, as long as it moves; else why it does not, in a few words."""
    if job.state in FINISHED:
        return f"{job.set_aside} set aside" if job.set_aside else job.state.value
    if job.stalled:
        return "stalled"
    if job.rate:
        return f"{rate(job.rate)}, {duration(job.eta_seconds or 0)} left"
    if job.waits_for:
        return f"behind {progress_of(job.waits_for)}" + _left(job.waits_for)
    if job.error and job.state is JobState.QUEUED:
        return "waits to try again"
    return job.state.value


def waits_for(ahead: JobAhead) -> str:
    """What a job waits for, and how long that may take."""
    speed = f", {rate(ahead.rate)}" if ahead.rate else ""
    return f"waits for {name_of(ahead)}: {progress_of(ahead)}{speed}{_left(ahead)}"


def rate(items_a_second: float) -> str:
    """Such as 12/s, 0.4/s."""
    return f"{items_a_second:.0f}/s" if items_a_second >= 10 else f"{items_a_second:.2g}/s"  # noqa: PLR2004


def duration(seconds: float) -> str:
    """Such as 40 s, 3 min, 5 h, 2 days."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.0f} h" if seconds < 2 * DAY else f"{seconds / DAY:.0f} days"


def moment(time: dt.datetime) -> str:
    """A time, and how long ago that was."""
    seconds = -_seconds_to(time)
    away = f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"
    return f"{time.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC ({away})"


def _left(ahead: JobAhead) -> str:
    return "" if ahead.eta_seconds is None else f", about {duration(ahead.eta_seconds)}"


def _seconds_to(time: dt.datetime) -> float:
    return (time - dt.datetime.now(tz=dt.UTC)).total_seconds()
