"""Health, jobs, workers, API keys, and the audit log."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints, computed_field

from kg_api.schemas.base import Answer, Body, Flag, OntologyName, Page
from kg_api.schemas.vocabulary import (
    MAX_KEY_DAYS,
    MAX_KEY_NAME,
    MAX_KEY_ONTOLOGIES,
    MAX_OVERLAP_HOURS,
    USUAL_OVERLAP_HOURS,
    JobState,
    KeyScope,
    KeyState,
    Selection,
)


class Health(Answer):
    status: str = "ok"
    version: str
    instance: str | None = None
    """Id of the service's home. It is not a secret."""
    notes: list[str] = Field(default_factory=list[str])


class Check(Answer):
    name: str
    ok: bool
    detail: str


class Readiness(Answer):
    ready: bool
    waiting_for: str | None = None
    checks: list[Check] = Field(default_factory=list[Check])


# Jobs

FINISHED = frozenset(
    {JobState.SUCCEEDED, JobState.SUCCEEDED_WITH_ERRORS, JobState.CANCELLED, JobState.FAILED}
)

JOB_KINDS = (
    *("source_embedding", "concept_extraction", "concept_embedding", "image_embedding", "edge_embedding"),
    *("folder_sync", "space_cleanup", "link_proposal", "community_detection", "backfill"),
)
"""Kinds of jobs. Other versions of kg can have further kinds."""


class Job(Answer):
    job_id: str
    kind: str
    ontology: str | None
    done: int
    total: int
    rate: float | None
    """Items per second since a worker last started the job."""
    eta_seconds: float | None

    state: JobState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    run_after: datetime
    """Earliest time to run. It is in the future while the job waits for a retry."""
    attempts: int
    error: str | None
    worker: str | None
    selection: Selection | None = None
    forced: bool = False
    spent: float | None = None
    """Cost of the language model in US dollars."""
    set_aside: int = 0
    """Number of skipped items. kg records the reason for each."""
    parts: int = 0
    stalled: bool = False
    """Whether the job is running without a recent heartbeat from its worker."""


class JobStarted(Answer):
    """Job that was started, or was already waiting or running."""

    ontology: str
    due: int = 0
    job_id: str | None
    """Null if nothing is due."""
    notes: list[str] = Field(default_factory=list[str])


class JobPage(Page):
    jobs: list[Job]


# API keys and audit log

WHOLE_KEY: Final = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_LIKE_A_KEY = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})(_[A-Za-z0-9_.-]*)?")
KEY_NAME_PATTERN = r"^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.@+\- ]*[\p{L}\p{M}\p{N}_])?$"


def _no_id(name: str) -> str:
    if _KEY_ID.fullmatch(name) or _LIKE_A_KEY.search(name):
        raise ValueError("looks like a key or the id of one: take another name")
    return name


def extract_key_id(called: str) -> str:
    found = _LIKE_A_KEY.fullmatch(called)
    return found["key_id"] if found else called


def redact_keys(text: str) -> str:
    """Return the text with keys shortened to their ids."""
    return _LIKE_A_KEY.sub(r"kg_\g<key_id>", text)


KeyOntologies = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_KEY_ONTOLOGIES)]


class NewKey(Body):
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_KEY_NAME, pattern=KEY_NAME_PATTERN),
        AfterValidator(_no_id),
    ]
    """Purpose or owner of the key: letters, digits, `_`, `-`, `.`, `@`, `+`, and inner spaces. Active keys
    have different names."""
    scope: KeyScope = "read"
    """`read`: search and read. `write`: also change documents and concepts, and start jobs. `admin`: also
    change models and configurations, sync folders, delete ontologies, and create keys."""
    ontologies: KeyOntologies | None = None
    """Ontologies that the key can access, existing or future. Null: all."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)


class KeyRotation(Body):
    overlap_hours: float = Field(default=USUAL_OVERLAP_HOURS, ge=0, le=MAX_OVERLAP_HOURS)
    """Time for which the old key stays valid."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)


class ApiKey(Answer):
    """API key. kg does not store its secret."""

    key_id: str
    """Id in the key after `kg_`, and in the request log."""
    name: str
    scope: KeyScope
    ontologies: list[str] | None = None
    state: KeyState
    created_at: datetime
    created_by: str
    """Id of the key that created this one. `local`: a user on the machine of the service."""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    replaces: str | None = None


class CreatedKey(ApiKey):
    key: str
    """Secret for `Authorization: Bearer ...`. Shown only once."""


class ApiKeys(Answer):
    keys: list[ApiKey]
    required: Flag


class AuditEntry(Answer):
    """Request that changed data, or failed after a possible change."""

    at: datetime
    key_id: str
    """Id of the request's key. `local`: command on the machine of the service. `anyone`: the service requires
    no key."""
    key_name: str | None = None
    """Null: no key, or the key no longer exists."""
    method: str
    path: str
    status: int
    """HTTP status: below 400, or 500 and above for a failure that may have changed some data."""
    request_id: str
    outcome: dict[str, str | int | bool] = Field(default_factory=dict)
    """Changes in the response: names, ids, and counts without text."""


class AuditPage(Page):
    """Page of the audit log, newest first."""

    entries: list[AuditEntry]


# Job queue


class WorkerInfo(Answer):
    """Worker with a heartbeat in the last hour."""

    name: str
    host: str
    pid: int
    started_at: datetime
    seen_seconds_ago: float
    alive: bool
    job: str | None
    notes: list[str] = Field(default_factory=list[str])
    """Limits of embedding servers that the worker hit, each with a setting that avoids rejected requests."""


class QueueStatus(Answer):
    """Numbers of jobs. Scheduled jobs and parts of jobs do not count."""

    queued: int
    waiting: int
    running: int
    stalled: int
    failed: int
    """Number of jobs that failed in the last day without a later job for the same work."""
    oldest_waiting_seconds: float
    """Time for which the oldest runnable job has waited. 0 without one."""
    backlog_age_seconds: float
    """Age of the oldest unfinished job. 0 without one."""
    paused: list[str] = Field(default_factory=list[str])
    """Ontologies with a cancelled job. kg embeds nothing in them until you start it."""
    workers: list[WorkerInfo] = Field(default_factory=list[WorkerInfo])

    @computed_field
    @property
    def dead(self) -> int:
        """Former name of `failed`."""
        return self.failed

    @property
    def alive(self) -> int:
        return sum(worker.alive for worker in self.workers)
