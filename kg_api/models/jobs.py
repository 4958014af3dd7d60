"""Jobs: durable background work."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from kg_api.models.base import Answer, Page


class JobState(StrEnum):
    """Where a job stands. Only queued and running jobs hold their unique key."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DEAD = "dead"


FINISHED = frozenset({JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD})


class Job(Answer):
    """A job and its progress."""

    job_id: str
    kind: str
    state: JobState
    ontology: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    run_after: datetime
    """Not before this time; later than now while it waits for a retry."""
    attempts: int
    """How often a worker has taken it."""
    done: int
    total: int
    rate: float | None
    """Items a second since a worker last took it."""
    eta_seconds: float | None
    error: str | None
    """Why it last stumbled."""
    worker: str | None


class JobPage(Page):
    """Jobs, the newest first."""

    jobs: list[Job]
