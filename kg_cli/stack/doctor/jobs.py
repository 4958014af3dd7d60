"""What `kg doctor` hears from the service: of its models, and of all background work that stands still."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kg_api.client import KgClient
from kg_api.errors import Forbidden, KgError, Unauthorized
from kg_api.models.jobs import Job
from kg_api.models.queue import QueueStatus
from kg_api.settings import Settings
from kg_cli.jobs.words import duration, name_of
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.terminal.connect import client_of

MAX_SHOWN = 3
"""Jobs of one kind of trouble that are named."""
WAITS_FOR_ANOTHER = "waiting: "
"""How the error of a job begins that waits for something outside kg."""
ANSWER_SECONDS = 10.0
SEND_A_KEY = "KG_API_KEY=kg_... kg doctor, with a key that may read"
SEND_A_KEY_OF_ALL = "KG_API_KEY=kg_... kg doctor, with a key of all ontologies, tells of it"
"""Any key may read: what it is refused concerns all of kg."""


def examine_models(url: str, settings: Settings) -> Iterator[DoctorFinding]:
    """Ask a service that answers what it knows of its models; none is asked anything for it."""
    with client_of(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            checks = [each for each in client.readiness().checks if each.name == "model"]
        except KgError:  # told with the jobs
            return
    for check in checks:
        fix = "" if check.ok else "mend that, then `kg admin spaces health` asks the models at once"
        yield DoctorFinding("model", "ok" if check.ok else "warn", check.detail, fix)


def examine_jobs(
    url: str, settings: Settings, *, start: str, patience_seconds: float = 0.0
) -> Iterator[DoctorFinding]:
    """Check workers and jobs.

    Args:
        url: of a service that answers.
        settings: whose key is sent.
        start: the command that starts a worker there.
        patience_seconds: how long a worker may take to give its first sign of life.
    """
    with client_of(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            queue = _wait_until_settled(client, patience_seconds)
            if isinstance(queue, Forbidden):
                told = f"not looked at with this key: {queue}"
                yield DoctorFinding("queue", "warn", told, SEND_A_KEY_OF_ALL)
                yield from _own_jobs(client)
            else:
                yield from _examine(client, queue, settings, start)
        except Unauthorized as error:
            yield DoctorFinding("jobs", "fail", f"the service does not tell of them: {error}", SEND_A_KEY)
        except KgError as error:
            yield DoctorFinding(
                "jobs", "fail", f"the service does not tell of them: {error}", "kg down, kg up"
            )


def _examine(client: KgClient, queue: QueueStatus, settings: Settings, start: str) -> Iterator[DoctorFinding]:
    yield _workers(queue, settings, start)
    for note in dict.fromkeys(note for worker in queue.workers for note in worker.notes):
        yield DoctorFinding("embedding server", "ok", note)
    troubles = [
        *_dead(client, queue),
        *_waiting(client, queue),
        *_find_stalled(client, queue),
        *_find_paused(queue),
    ]
    yield from troubles
    if not troubles:
        yield DoctorFinding(
            "jobs", "ok", f"{queue.running} running, {queue.queued} queued, none has died lately"
        )


def _own_jobs(client: KgClient) -> Iterator[DoctorFinding]:
    """What a key of some ontologies is told."""
    dead = client.jobs(state="dead", limit=MAX_SHOWN).jobs
    yield from map(_dead_job, dead)
    if not dead:
        yield DoctorFinding("jobs", "ok", "none of this key's ontologies is dead")


def _wait_until_settled(client: KgClient, patience_seconds: float) -> QueueStatus | Forbidden:
    """The queue, or why this key is not told of it."""
    deadline = time.monotonic() + patience_seconds
    try:
        while not (queue := client.queue()).alive and time.monotonic() < deadline:
            time.sleep(0.5)
    except Forbidden as error:
        return error
    return queue


def _workers(queue: QueueStatus, settings: Settings, start: str) -> DoctorFinding:
    waited = queue.oldest_waiting_seconds
    if not queue.alive:
        waiting = f", and jobs have been waiting for {duration(waited)}" if waited else ""
        grade = "fail" if waited > settings.api.backlog_seconds else "warn"
        return DoctorFinding("workers", grade, f"none has given a sign of life{waiting}", start)
    if waited > settings.api.backlog_seconds and not queue.running:
        told = f"{queue.alive} are there, but a job has been waiting for {duration(waited)} and none takes it"
        return DoctorFinding(
            "workers", "fail", told, "stop workers of an older kg, then look into the worker's log"
        )
    busy = sum(worker.alive and worker.job is not None for worker in queue.workers)
    return DoctorFinding("workers", "ok", f"{queue.alive} there, {busy} at work")


def _dead(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    if not queue.dead:
        return
    for job in client.jobs(state="dead", limit=min(queue.dead, MAX_SHOWN)).jobs:
        yield _dead_job(job)
    if queue.dead > MAX_SHOWN:
        told = f"{queue.dead} have died within a day"
        yield DoctorFinding("jobs", "fail", told, "kg jobs list --state dead")


def _dead_job(job: Job) -> DoctorFinding:
    told = f"{name_of(job)} is dead: {job.error or 'no reason is recorded'}"
    return DoctorFinding("job", "fail", told, f"mend that, then: kg jobs retry {job.job_id}")


def _waiting(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    """Jobs that wait for something else, each reason once; and those that failed and are retried."""
    if not queue.waiting:
        return
    reasons: dict[str, Job] = {}
    for job in client.jobs(state="queued", limit=100).jobs:
        if job.error:
            reasons.setdefault(job.error, job)
    for reason, job in list(reasons.items())[:MAX_SHOWN]:
        if reason.startswith(WAITS_FOR_ANOTHER):
            told = f"{name_of(job)} waits: {reason.removeprefix(WAITS_FOR_ANOTHER)}"
            fix = "it goes on by itself when that answers; `kg admin spaces health` asks the models"
        else:
            told = f"{name_of(job)} has failed and will be retried: {reason}"
            fix = f"kg jobs retry {job.job_id} tries it now"
        yield DoctorFinding("job", "warn", told, fix)


def _find_stalled(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    if not queue.stalled:
        return
    for job in [job for job in client.jobs(state="running", limit=100).jobs if job.stalled][:MAX_SHOWN]:
        told = f"{name_of(job)} is stalled: its worker {job.worker} gives no sign of life"
        yield DoctorFinding(
            "job", "warn", told, "another worker goes on with it; if there is none, start one"
        )


def _find_paused(queue: QueueStatus) -> Iterator[DoctorFinding]:
    for ontology in queue.paused[:MAX_SHOWN]:
        told = f"{ontology}: its embedding was cancelled, so nothing new is embedded in it"
        yield DoctorFinding(
            "paused", "warn", told, f"kg admin source-embeddings generate --ontology {ontology!r}"
        )
