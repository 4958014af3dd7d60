"""The queue of jobs, looked at as a whole."""

from __future__ import annotations

from kg_api.graph.database import Graph, Row
from kg_api.graph.jobs.records import PERIODIC_KINDS
from kg_api.graph.jobs.views import ahead_of, jobs_in_line, present_waiting
from kg_api.graph.jobs.workers import ALIVE_SECONDS
from kg_api.graph.naming.reach import within
from kg_api.models.jobs import Job
from kg_api.models.queue import JobWaiting, QueueStatus, WorkerInfo

MAX_WAITS = 10


def queue_status(graph: Graph) -> QueueStatus:
    """Count jobs by what they do at this moment, and list the workers."""
    counted = graph.read("queue/status", hidden=list(PERIODIC_KINDS))[0]
    workers = [_worker(row) for row in graph.read("queue/workers")]
    return QueueStatus.model_validate({**counted, "workers": workers, "waits": _waits(graph)})


def is_touched(graph: Graph, *, within_seconds: float) -> bool:
    """Whether a worker has a job at this moment, or has got on with one within that time."""
    return bool(graph.read("queue/touched", seconds=within_seconds)[0]["touched"])


def lately(graph: Graph, ontology: str | None) -> list[Job]:
    """Unfinished jobs, at most 1,000 of them, and those that have ended within the last half minute."""
    rows = graph.read("queue/lately", ontologies=within(ontology), hidden=list(PERIODIC_KINDS))
    return present_waiting(graph, [row["job"] for row in rows])


def _waits(graph: Graph) -> list[JobWaiting]:
    line = jobs_in_line(graph)
    told: list[JobWaiting] = []
    for each in line:
        job = each.ahead
        if not each.at_work and (before := ahead_of(job.job_id, each.rank, line)):
            told.append(JobWaiting(job_id=job.job_id, kind=job.kind, ontology=job.ontology, waits_for=before))
    return told[:MAX_WAITS]


def _worker(row: Row) -> WorkerInfo:
    alive = row["seen_seconds_ago"] <= ALIVE_SECONDS
    return WorkerInfo.model_validate({**row, "started_at": row["started_at"].to_native(), "alive": alive})
