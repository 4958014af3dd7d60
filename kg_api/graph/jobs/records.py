"""What the functions about jobs speak of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import structlog

from kg_api.models.vocabulary import JobState, Selection
from kg_api.tracing.spans import current_traceparent

LINK_PROPOSAL = "link_proposal"
COMMUNITY_DETECTION = "community_detection"
PERIODIC_KINDS = ("backfill", LINK_PROPOSAL, COMMUNITY_DETECTION)
"""Kinds made by a schedule; hidden from lists unless asked for by kind."""
EXTRACTION = "concept_extraction"
CONCEPT_EMBEDDING = "concept_embedding"
IMAGE_EMBEDDING = "image_embedding"
EDGE_EMBEDDING = "edge_embedding"
SOURCE_EMBEDDING = "source_embedding"
PAUSING_KINDS = (SOURCE_EMBEDDING, CONCEPT_EMBEDDING, IMAGE_EMBEDDING, EDGE_EMBEDDING, EXTRACTION)
"""Cancelling one of these pauses such work of its ontology, and asking for one ends the pause."""

FIRST, STALE = 0, 1
_RANK_OF_KIND = {
    "space_cleanup": STALE,
    EXTRACTION: 2,
    CONCEPT_EMBEDDING: 3,
    EDGE_EMBEDDING: 3,
    LINK_PROPOSAL: 4,
    COMMUNITY_DETECTION: 4,
}
RANKS = (FIRST, STALE, 2, 3, 4)
"""What work is worth: new text first, with the scans that bring it and what a person put first; then what is
stale and what is to be cleared away; then concepts and
relationships; last what may be linked, and the overview. Only jobs of one rank share turns (ADR 33)."""


def rank_of(kind: str) -> int:
    """What a fresh job of a kind is worth."""
    return _RANK_OF_KIND.get(kind, FIRST)


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that this worker owns as long as the fence is the newest."""

    job_id: str
    kind: str
    state: str
    ontology: str | None
    fence: int
    cursor: str
    wanted: int
    failures: int
    waits: int
    """How often in a row it has waited for something else."""
    selection: Selection = "due"
    forced_at: Any = None
    """What is older is made anew though it is right; a time of the database, to be given back as it is."""
    part: str = ""
    """The range of document ids that it is about, `lo:hi`; "" for all."""
    parent_id: str | None = None
    """The job that it is a part of."""
    done: int = 0
    total: int = 0
    """How much was thought to be done when it was claimed."""
    request_id: str | None = None
    """The request that it was first made for, as the service's log names it."""
    rank: int = FIRST
    """What it is worth: one of a smaller number goes first."""
    traceparent: str | None = None
    """Where the trace of that request goes on, as the W3C writes it."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A worker's hold on a job: what every later write of it is checked against."""

    job_id: str
    worker: str
    fence: int
    lease_seconds: float

    def parameters(self) -> dict[str, Any]:
        """The statement parameters that identify the owner."""
        return {"job_id": self.job_id, "worker": self.worker, "fence": self.fence}


def fresh_job(
    kind: str,
    ontology: str | None,
    *,
    key: str | None = None,
    selection: Selection = "due",
) -> dict[str, Any]:
    """The properties of a job that waits, but for those that are times."""
    return {
        "job_id": uuid.uuid4().hex,
        "kind": kind,
        "ontology": ontology,
        "key": key,
        "selection": selection,
        "state": JobState.QUEUED.value,
        "cursor": "",
        "rank": rank_of(kind),
        **dict.fromkeys(
            ("done", "total", "done_at_claim", "wanted", "attempts", "stumbles", "waits", "fence"), 0
        ),
        "set_aside": 0,
        "request_id": structlog.contextvars.get_contextvars().get("request_id"),
        "traceparent": current_traceparent(),
    }
