"""What a person does with jobs: cancel one, try one again. And forgetting what is long over."""

from __future__ import annotations

from neo4j.exceptions import ConstraintError

from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.idempotency import forget_old_answers
from kg_api.graph.jobs.records import EXTRACTION, PERIODIC_KINDS, rank_of
from kg_api.graph.jobs.requests import pause, unpause
from kg_api.graph.jobs.views import find_job
from kg_api.graph.jobs.workers import forget_lost_workers
from kg_api.models.jobs import FINISHED, Job
from kg_api.models.vocabulary import JobState

RETRIED = frozenset({JobState.DEAD, JobState.CANCELLED, JobState.COMPLETED_WITH_ERRORS})
"""Ends that can be tried again."""


def cancel_job(graph: Graph, job_id: str) -> Job:
    """End a job that waits or runs, and its parts; its worker writes nothing more, what it wrote stays.

    An ontology whose embedding is cancelled is left alone until somebody asks for it again.

    Raises:
        NotFound: there is no such job.
        Conflict: it has ended in another way.
    """
    find_job(graph, job_id)
    graph.transaction(lambda tx: _cancel(tx, job_id))
    return find_job(graph, job_id)


def _cancel(tx: Transaction, job_id: str) -> None:
    rows = tx.run("jobs/cancel", job_id=job_id)
    if not rows:
        return
    before = JobState(rows[0]["before"])
    if before is JobState.CANCELLED:
        return
    if before in FINISHED:
        raise Conflict(f"job {job_id} has ended already ({before}): there is nothing to cancel")
    tx.run("jobs/end_parts", job_id=job_id)
    if rows[0]["parent_id"] is None:
        pause(tx, rows[0]["kind"], rows[0]["ontology"])


def retry_job(graph: Graph, job_id: str) -> Job:
    """Put a job that ended badly into the queue again, or let one that waits begin now.

    One that waits for what is worth more shares turns with that from now on.

    Raises:
        NotFound: there is no such job.
        Conflict: it runs, it is completed, or another job does its work.
    """
    try:
        graph.transaction(lambda tx: _retry(tx, job_id))
    except ConstraintError:  # a job of its key was made at this very moment: now it can be seen
        graph.transaction(lambda tx: _retry(tx, job_id))
    return find_job(graph, job_id)


def _retry(tx: Transaction, job_id: str) -> None:
    rows = tx.run("jobs/lock", job_id=job_id)
    if not rows:
        return
    state = JobState(rows[0]["state"])
    if state is JobState.QUEUED:
        if rows[0]["later"]:
            tx.run("jobs/run_now", job_id=job_id)
    elif state in RETRIED:
        _requeue(tx, job_id, rows[0])
    elif state is JobState.RUNNING:
        raise Conflict(f"job {job_id} is running: cancel it first to restart it")
    else:
        raise Conflict(f"job {job_id} is completed: ask for new work instead")


def _requeue(tx: Transaction, job_id: str, job: Row) -> None:
    if job["parent_id"] is not None and job["parent_state"] not in {JobState.QUEUED, JobState.RUNNING}:
        raise Conflict(f"job {job_id} is a part of job {job['parent_id']}, which has ended: retry that one")
    for other in tx.run("jobs/holder_of_key", unique_key=job["key"]) if job["key"] else ():
        raise Conflict(f"job {other['job_id']} does the same work already: watch that one")
    tx.run("jobs/requeue", job_id=job_id, unique_key=job["key"], rank=rank_of(job["kind"]))
    unpause(tx, job["kind"], job["ontology"])


def prune(graph: Graph, *, days: int) -> int:
    """Forget finished jobs older than that, at most 10,000 a call; lost workers and kept answers too.

    Jobs that a process of an older version has made meanwhile are given their rank.
    """
    forget_lost_workers(graph)
    forget_old_answers(graph)
    graph.write("jobs/rank_unranked")
    kinds = {"periodic": list(PERIODIC_KINDS), "asked_for": [EXTRACTION]}
    return graph.write("jobs/prune", days=days, **kinds)[0]["pruned"]
