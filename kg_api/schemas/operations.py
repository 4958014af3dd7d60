"""Health, jobs, workers, API keys and the audit log."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

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
    """The home that it serves, as an id that grants nothing."""
    notes: list[str] = Field(default_factory=list[str])


class Check(Answer):
    name: str
    ok: bool
    detail: str


class Readiness(Answer):
    ready: bool
    waiting_for: str | None = None
    checks: list[Check] = Field(default_factory=list[Check])


class Start(Answer):
    name: str = "kg"
    description: str
    version: str
    ready: bool
    waiting_for: str | None = None
    links: dict[str, str]


# Jobs: durable background work.

FINISHED = frozenset({JobState.COMPLETED, JobState.COMPLETED_WITH_ERRORS, JobState.CANCELLED, JobState.DEAD})

JOB_KINDS = (
    *("source_embedding", "concept_extraction", "concept_embedding", "image_embedding", "edge_embedding"),
    *("folder_sync", "space_cleanup", "link_proposal", "community_detection", "backfill"),
)
"""What jobs do. Another version of kg may have other kinds too."""


class JobAhead(Answer):
    job_id: str
    kind: str
    ontology: str | None
    done: int
    total: int
    rate: float | None
    """Items a second since a worker last took it."""
    eta_seconds: float | None


class Job(JobAhead):
    state: JobState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    run_after: datetime
    """Not before this time; later than now while it waits for a retry."""
    attempts: int
    error: str | None
    worker: str | None
    selection: Selection | None = None
    forced: bool = False
    expected_cost: float | None = None
    """US dollars that a language model was to cost, as was estimated when the job began."""
    spent: float | None = None
    set_aside: int = 0
    """Items that could not be done, each kept with its reason."""
    parts: int = 0
    stalled: bool = False
    """Running, but its worker has given no sign of life for longer than the lease."""
    waits_for: JobAhead | None = None
    """Of a queued job that could be taken: the one that goes before it, or that keeps the workers busy."""


class JobPage(Page):
    jobs: list[Job]


# API keys: what they may do, until when, when they were used, and what was changed with them.

WHOLE_KEY: Final = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_LIKE_A_KEY = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})(_[A-Za-z0-9_.-]*)?")
KEY_NAME_PATTERN = r"^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.@+\- ]*[\p{L}\p{M}\p{N}_])?$"


def _no_id(name: str) -> str:
    if _KEY_ID.fullmatch(name) or _LIKE_A_KEY.search(name):
        raise ValueError("looks like a key or the id of one: take another name")
    return name


def key_id_in(called: str) -> str:
    found = _LIKE_A_KEY.fullmatch(called)
    return found["key_id"] if found else called


def without_secrets(text: str) -> str:
    """A text in which keys are cut to their ids."""
    return _LIKE_A_KEY.sub(r"kg_\g<key_id>", text)


KeyOntologies = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_KEY_ONTOLOGIES)]


class NewKey(Body):
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_KEY_NAME, pattern=KEY_NAME_PATTERN),
        AfterValidator(_no_id),
    ]
    """Who or what it is for: letters, digits, `_`, `-`, `.`, `@`, `+` and inner spaces. To make a key, the
    name must not be that of one that can be used."""
    scope: KeyScope = "read"
    """`read` searches and reads; `write` also changes documents and concepts, and has work done; `admin` also
    changes models and configurations, follows folders, deletes ontologies, and makes keys."""
    ontologies: KeyOntologies | None = None
    """To whoever sends it there are no others, whether these are there yet or not; null: all."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)


class KeyRotation(Body):
    overlap_hours: float = Field(default=USUAL_OVERLAP_HOURS, ge=0, le=MAX_OVERLAP_HOURS)
    """For so long the old key is good beside the new one."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)


class ApiKey(Answer):
    """A key; its secret is stored nowhere."""

    key_id: str
    """Stands in the key itself, behind `kg_`; also in the log of requests."""
    name: str
    scope: KeyScope
    ontologies: list[str] | None = None
    state: KeyState
    created_at: datetime
    created_by: str
    """Id of the key that it was made with; `local`: by somebody on the machine of the service."""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    replaces: str | None = None


class CreatedKey(ApiKey):
    key: str
    """To be sent as `Authorization: Bearer ...`. Shown here and never again."""


class ApiKeys(Answer):
    keys: list[ApiKey]
    required: Flag


class AuditEntry(Answer):
    """A request that changed something, or failed and may have."""

    at: datetime
    key_id: str
    """Id of the key that it was sent with; `local`: a command on the machine of the service; `anyone`: the
    service asks for no key."""
    key_name: str | None = None
    """Null: the key is none, or is not there any more."""
    method: str
    path: str
    status: int
    """Of HTTP: below 400; from 500 on where it failed, and may have been done in part."""
    request_id: str
    outcome: dict[str, str | int | bool] = Field(default_factory=dict)
    """Of the answer what says what was changed: names, ids and counts, no text."""


class AuditPage(Page):
    """A page of what was changed, the newest first."""

    entries: list[AuditEntry]


# The queue of jobs as an operator sees it.


class WorkerInfo(Answer):
    """A worker that has given a sign of life within the last hour."""

    name: str
    host: str
    pid: int
    started_at: datetime
    seen_seconds_ago: float
    alive: bool
    job: str | None
    notes: list[str] = Field(default_factory=list[str])
    """Limits of embedding servers that it has met, each with the setting that spares rejected requests."""


class JobWaiting(Answer):
    job_id: str
    kind: str
    ontology: str | None
    waits_for: JobAhead


class QueueStatus(Answer):
    """The queue in numbers. What schedules make and the parts of jobs are not counted."""

    queued: int
    waiting: int
    running: int
    stalled: int
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
        return sum(worker.alive for worker in self.workers)
