"""Jobs as they are stored: durable, claimed by one worker at a time, fenced.

All times are the database's own, so a worker whose clock is wrong neither steals nor keeps a job. Every
statement that changes a job takes its lock first and looks at its state again then; of a part and its whole,
the whole's first.
"""

from __future__ import annotations

from kg_api.graph.jobs.claims import claim, fail, heartbeat, others_wait, release, wait, yield_job
from kg_api.graph.jobs.control import cancel_job, prune, retry_job
from kg_api.graph.jobs.progress import JobRequest, advance, expect, finish, lower
from kg_api.graph.jobs.records import PAUSING_KINDS, PERIODIC_KINDS, ClaimedJob, Owner
from kg_api.graph.jobs.requests import (
    add_parts,
    enqueue_slot,
    ensure_job,
    is_asked_for,
    request_job,
    unfinished_parts,
    would_be_taken,
)
from kg_api.graph.jobs.views import Progress, embedding_progress, find_job, page_of_jobs, parts_of, rests

__all__ = [
    "PAUSING_KINDS",
    "PERIODIC_KINDS",
    "ClaimedJob",
    "JobRequest",
    "Owner",
    "Progress",
    "add_parts",
    "advance",
    "cancel_job",
    "claim",
    "embedding_progress",
    "enqueue_slot",
    "ensure_job",
    "expect",
    "fail",
    "find_job",
    "finish",
    "heartbeat",
    "is_asked_for",
    "lower",
    "others_wait",
    "page_of_jobs",
    "parts_of",
    "prune",
    "release",
    "request_job",
    "rests",
    "retry_job",
    "unfinished_parts",
    "wait",
    "would_be_taken",
    "yield_job",
]
