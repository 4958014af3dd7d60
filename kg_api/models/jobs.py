"""Jobs: durable background work."""

from __future__ import annotations

from datetime import datetime

from kg_api.models.base import Answer, Page
from kg_api.models.vocabulary import JobState, Selection

FINISHED = frozenset({JobState.COMPLETED, JobState.COMPLETED_WITH_ERRORS, JobState.CANCELLED, JobState.DEAD})

JOB_KINDS = (
    *("source_embedding", "concept_extraction", "concept_embedding", "image_embedding", "edge_embedding"),
    *("folder_sync", "space_cleanup", "link_proposal", "community_detection", "backfill"),
)
"""What jobs do. Another version of kg may have other kinds too."""


class JobAhead(Answer):
    """A job that another one waits for."""

    job_id: str
    kind: str
    ontology: str | None
    done: int
    total: int
    rate: float | None
    """Items a second since a worker last took it."""
    eta_seconds: float | None


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
    """Why it last failed, was cancelled or died."""
    worker: str | None
    selection: Selection | None = None
    """Of an embedding job."""
    forced: bool = False
    """Whether what is right already is made anew too."""
    expected_cost: float | None = None
    """US dollars that a language model was to cost, as was estimated when the job began."""
    spent: float | None = None
    """US dollars that it has cost."""
    set_aside: int = 0
    """Items that could not be done, each kept with its reason."""
    parts: int = 0
    """Unfinished parts of it that other workers may take."""
    stalled: bool = False
    """Running, but its worker has given no sign of life for longer than the lease."""
    waits_for: JobAhead | None = None
    """Of a queued job that could be taken: the one that goes before it, or that keeps the workers busy."""


class JobPage(Page):
    """Jobs, the newest first."""

    jobs: list[Job]
