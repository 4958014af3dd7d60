"""The queue of jobs as an operator sees it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from kg_api.models.base import Answer
from kg_api.models.jobs import JobAhead


class WorkerInfo(Answer):
    """A worker that has given a sign of life within the last hour."""

    name: str
    host: str
    pid: int
    started_at: datetime
    seen_seconds_ago: float
    alive: bool
    """Whether its last sign of life is recent: one comes every few seconds."""
    job: str | None
    """Id of the job it has."""
    notes: list[str] = Field(default_factory=list[str])
    """Limits of embedding servers that it has met, each with the setting that spares rejected requests."""


class JobWaiting(Answer):
    """A job that could be taken, and the one that goes before it."""

    job_id: str
    kind: str
    ontology: str | None
    waits_for: JobAhead


class QueueStatus(Answer):
    """The queue in numbers. What schedules make and the parts of jobs are not counted."""

    queued: int
    """Jobs in state queued."""
    waiting: int
    """Of these, those that are tried again later."""
    running: int
    """Jobs in state running."""
    stalled: int
    """Of these, those whose worker has given no sign of life for longer than its lease."""
    dead: int
    """Jobs that died within the last day and whose work no later job has done."""
    oldest_waiting_seconds: float
    """For how long a job could have been taken and was not; 0 when there is none."""
    backlog_age_seconds: float
    """Since when the oldest unfinished job is there; 0 when all is done."""
    paused: list[str] = Field(default_factory=list[str])
    """Ontologies whose job was cancelled; nothing is embedded in them until somebody asks for it."""
    workers: list[WorkerInfo] = Field(default_factory=list[WorkerInfo])

    waits: list[JobWaiting] = Field(default_factory=list[JobWaiting])
    """Which jobs wait for which, in the order in which they go; at most ten."""

    @property
    def alive(self) -> int:
        """Workers that are there at this moment."""
        return sum(worker.alive for worker in self.workers)
