"""Requests, claims, fences, lists, cancels, and retries jobs."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import structlog
from neo4j.exceptions import ConstraintError

from kg_api.errors import Conflict, LeaseLost, NotFound, TooBusy
from kg_api.graph.cache import delete_old_answers
from kg_api.graph.client import Graph, Reader, Row, Transaction
from kg_api.graph.reach import get_visible_ontologies, is_visible, resolve_ontology
from kg_api.graph.rows import convert_times
from kg_api.schemas.folders import SCAN_KIND
from kg_api.schemas.operations import FINISHED, Job, QueueStatus, WorkerInfo
from kg_api.schemas.vocabulary import JobState, Selection
from kg_api.suggestions import format_suggestion
from kg_api.tracing import get_traceparent

LINK_PROPOSAL = "link_proposal"
COMMUNITY_DETECTION = "community_detection"
PERIODIC_KINDS = ("backfill", LINK_PROPOSAL, COMMUNITY_DETECTION)
"""Kinds of scheduled jobs. A list contains them only if the request names the kind."""
EXTRACTION = "concept_extraction"
CONCEPT_EMBEDDING = "concept_embedding"
IMAGE_EMBEDDING = "image_embedding"
EDGE_EMBEDDING = "edge_embedding"
SOURCE_EMBEDDING = "source_embedding"
PAUSING_KINDS = (SOURCE_EMBEDDING, CONCEPT_EMBEDDING, IMAGE_EMBEDDING, EDGE_EMBEDDING, EXTRACTION)
"""Kinds of jobs that stay paused in an ontology after a cancellation, until the next request."""

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
"""Priorities of jobs. 0: new texts, scans, and jobs that a user moved to the front. 1: stale vectors and
cleanup. 2: extraction. 3: vectors of concepts and relationships. 4: link proposals and communities. Only jobs
of equal rank share time slices (ADR 4)."""


def get_job_rank(kind: str) -> int:
    return _RANK_OF_KIND.get(kind, FIRST)


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """Job that belongs to this worker as long as it has the newest fence."""

    job_id: str
    kind: str
    state: str
    ontology: str | None
    fence: int
    cursor: str
    wanted: int
    failures: int
    waits: int  # consecutive waits for another service
    selection: Selection = "due"
    forced_at: Any = None
    """Database time. Older vectors are re-embedded, also if they are correct. Do not change this value."""
    part: str = ""  # range of document ids, `lo:hi` (empty: all)
    parent_id: str | None = None
    done: int = 0
    total: int = 0
    request_id: str | None = None  # first request for the job, as in the service log
    rank: int = FIRST
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Shows that a worker owns a job. This is checked by every later write."""

    job_id: str
    worker: str
    fence: int
    lease_seconds: float

    def parameters(self) -> dict[str, Any]:
        return {"job_id": self.job_id, "worker": self.worker, "fence": self.fence}

    def lost(self) -> LeaseLost:
        return LeaseLost(f"job {self.job_id} is owned by another worker now, or has ended")


def build_new_job(
    kind: str, ontology: str | None, *, key: str | None = None, selection: Selection = "due"
) -> dict[str, Any]:
    """Build the properties of a queued job, without times."""
    counters = ("done", "total", "done_at_claim", "wanted", "attempts", "failures", "waits", "fence")
    return {
        "job_id": uuid.uuid4().hex,
        "kind": kind,
        "ontology": ontology,
        "key": key,
        "selection": selection,
        "state": JobState.QUEUED.value,
        "cursor": "",
        "rank": get_job_rank(kind),
        **dict.fromkeys((*counters, "set_aside"), 0),
        "request_id": structlog.contextvars.get_contextvars().get("request_id"),
        "traceparent": get_traceparent(),
    }


# Progress and end of claimed jobs
#
# Each function raises LeaseLost if another worker owns the job or the job has ended.


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Request that arrived when the job was running."""

    wanted: int
    selection: Selection
    forced_at: Any


def advance(tx: Transaction, owner: Owner, *, before: str, after: str, done: int, set_aside: int = 0) -> None:
    """Move the job's cursor in the same transaction as the work. After LeaseLost, it must not commit."""
    places = {"before": before, "after": after, "done": done, "set_aside": set_aside}
    rows = tx.run("jobs/advance", **owner.parameters(), **places, lease_seconds=owner.lease_seconds)
    if not rows or not rows[0]["advanced"]:
        raise owner.lost()


def expect(graph: Graph, owner: Owner, *, left: int) -> None:
    """Correct the total for a job, using the items that are left."""
    if not graph.write("jobs/expect", **owner.parameters(), left=left):
        raise owner.lost()


def lower(graph: Graph, owner: Owner, *, wanted: int, rank: int) -> int | JobRequest:
    """Lower the priority for a job. You get its rank, or a newer request to process first."""
    # A job that a user moved to the front keeps its rank.
    rows = graph.write("jobs/lower", **owner.parameters(), wanted=wanted, rank=rank)
    if not rows:
        raise owner.lost()
    return rows[0]["rank"] if rows[0]["last"] else _build_request(rows[0])


def finish(graph: Graph, owner: Owner, *, wanted: int) -> JobRequest | None:
    """End the job. If there is a newer request, return it to continue the job."""

    def end(tx: Transaction) -> list[Row]:
        rows = tx.run("jobs/finish", **owner.parameters(), wanted=wanted)
        if rows and rows[0]["finished"]:
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows

    rows = graph.transaction(end)
    if not rows or not rows[0]["owned"]:
        raise owner.lost()
    return None if rows[0]["finished"] else _build_request(rows[0])


def _build_request(row: Row) -> JobRequest:
    return JobRequest(row["wanted"], row["selection"], row["forced_at"])


# Heartbeats of workers, every few seconds

ALIVE_SECONDS = 20.0  # a worker without a heartbeat for this time counts as lost


def sign_of_life(graph: Graph, name: str, *, host: str, pid: int, notes: Sequence[str] = ()) -> None:
    graph.write("workers/seen", name=name, host=host, pid=pid, notes=list(notes))


def delete_worker(graph: Graph, name: str) -> None:
    graph.write("workers/forget", name=name)


def count_unknown_kinds(graph: Graph, kinds: Sequence[str]) -> dict[str, int]:
    rows = graph.read("jobs/unknown_kinds", kinds=list(kinds))
    return {row["kind"]: row["waiting"] for row in rows}


# Claims, heartbeats, and returns of jobs
#
# All times are the database's, so a worker with a wrong clock neither steals nor keeps a job. Every statement
# that changes a job locks it before reading its state, and locks the parent before the part.

MAX_CANDIDATES = 10


def claim(
    graph: Graph, worker: str, kinds: list[str], *, lease_seconds: float, max_failures: int
) -> ClaimedJob | None:
    """Claim a job. A job with too many failures returns in state `failed` and must not run."""
    # While a job runs anywhere, no job of a lower priority is claimed. Within a rank, ontologies with the
    # fewest running jobs come first, then the longest queued jobs. Several workers start at different equal
    # jobs, so they do not wait for each other's locks.
    parameters = {"worker": worker, "lease_seconds": lease_seconds, "max_failures": max_failures}

    def take(tx: Transaction, job_id: str) -> ClaimedJob | None:
        rows = tx.run("jobs/take", job_id=job_id, **parameters)
        if rows and rows[0]["state"] == "failed":
            tx.run("jobs/end_parts", job_id=job_id)
        return ClaimedJob(**rows[0]) if rows else None

    while True:
        rows = graph.read(
            "jobs/next",
            worker=worker,
            kinds=kinds,
            ranks=list(RANKS),
            limit=MAX_CANDIDATES,
            alive_seconds=ALIVE_SECONDS,
        )
        if not rows:
            return None
        equal = [row["job_id"] for row in rows if row["rank"] == rows[0]["rank"]]
        head = equal[: max(1, rows[0]["workers"])]
        for job_id in random.sample(head, len(head)):
            job = graph.transaction(lambda tx, job_id=job_id: take(tx, job_id))
            if job is not None:
                return job


def heartbeat(graph: Graph, owner: Owner, *, stuck_seconds: float = 86_400.0) -> bool:
    """Renew the lease. Return False if the job made no progress for `stuck_seconds` and has now failed."""
    parameters = {
        "lease_seconds": owner.lease_seconds,
        "stuck_seconds": stuck_seconds,
        "error": f"timeout: nothing was done for {stuck_seconds:g} s",
    }

    def beat(tx: Transaction) -> list[Row]:
        rows = tx.run("jobs/heartbeat", **owner.parameters(), **parameters)
        if rows and rows[0]["stuck"]:
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows

    rows = graph.transaction(beat)
    if not rows:
        raise owner.lost()
    return not rows[0]["stuck"]


def should_yield(graph: Graph, job: ClaimedJob, kinds: Sequence[str], *, over: bool = True) -> bool:
    about = {"kind": job.kind, "ontology": job.ontology or "", "parent_id": job.parent_id, "rank": job.rank}
    rows = graph.read("jobs/others_wait", kinds=list(kinds), over=over, **about)
    return bool(rows[0]["others"])


def fail(
    graph: Graph, owner: Owner, error: str, *, delay_seconds: float, max_failures: int, permanent: bool
) -> str:
    """Record that the job has failed. You get the new state, or "lost"."""
    parameters = {
        "error": error,
        "delay_seconds": delay_seconds,
        "max_failures": max_failures,
        "permanent": permanent,
    }

    def record_failure(tx: Transaction) -> str:
        rows = tx.run("jobs/fail", **owner.parameters(), **parameters)
        if rows and rows[0]["state"] == "failed":
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows[0]["state"] if rows else "lost"

    return graph.transaction(record_failure)


def give_back(
    graph: Graph,
    owner: Owner,
    *,
    delay_seconds: float = 0.0,
    keeps_place: bool = False,
    error: str | None = None,
) -> None:
    """Return a job to the end of the queue, or to its place. It can be claimed after a delay."""
    # `error` names a required service that does not respond.
    parameters = {"delay_seconds": delay_seconds, "keeps_place": keeps_place, "error": error}
    graph.write("jobs/give_back", **owner.parameters(), **parameters)


# Jobs in lists and responses

NEWEST = 100  # jobs to search for ids similar to an unknown id
MAX_COOLDOWN_SECONDS = 600
RATE_DIGITS = 3
OF_THE_MACHINE = "the folder cannot be read. An administrator of kg can see the cause"


def find_job(graph: Graph, job_id: str) -> Job:
    rows = graph.read("jobs/find", job_id=job_id)
    if not rows or not is_visible(rows[0]["job"].get("ontology")):
        raise report_unknown_job(graph, job_id)
    return build_job(rows[0]["job"])


def report_unknown_job(graph: Graph, job_id: str) -> NotFound:
    """Build an error for an unknown job, to suggest similar ids from the newest jobs."""
    newest, _ = read_jobs_page(graph, state=None, kind=None, ontology=None, offset=0, limit=NEWEST)
    near = format_suggestion(job_id, [job.job_id for job in newest])
    return NotFound(f"job {job_id!r} not found{near}. `kg jobs list` shows the existing ones")


def read_jobs_page(
    graph: Graph, *, state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int
) -> tuple[list[Job], int]:
    """Read a page of jobs, newest first, and count all of them. Parts are not included."""
    hidden = [each for each in PERIODIC_KINDS if each != kind]
    chosen = {"state": state, "kind": kind, "ontologies": resolve_ontology(ontology), "hidden": hidden}
    rows = graph.read("jobs/page", **chosen, offset=offset, limit=limit)
    return [build_job(row["job"]) for row in rows], graph.read("jobs/count", **chosen)[0]["total"]


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int
    replaces: bool = False  # searches use previous vectors until the job ends


def read_embedding_progress(graph: Graph, kind: str = SOURCE_EMBEDDING) -> dict[str, Progress]:
    rows = graph.read("jobs/unfinished", kind=kind)
    return {row["ontology"]: Progress(row["done"], row["total"], row["forced"]) for row in rows}


def must_wait_to_restart(
    graph: Reader, kind: str, ontology: str, *, at_most: float, after_fault: float = MAX_COOLDOWN_SECONDS
) -> bool:
    """Check if work that has failed has to wait before it can restart."""
    # No wait after the first death, then 30 s, 90 s, and so on up to ten minutes. Ten minutes after a fault
    # that a user must fix.
    rows = graph.read("jobs/deaths", kind=kind, ontology=ontology)
    deaths = list(takewhile(lambda row: row["failed"], rows))
    if not deaths:
        return False
    seconds = (
        after_fault
        if deaths[0]["permanent"]
        else min(MAX_COOLDOWN_SECONDS, 30 * (2 ** (len(deaths) - 1) - 1))
    )
    return math.isinf(seconds) or deaths[0]["seconds"] < min(seconds, at_most)


def build_job(row: Row) -> Job:
    """Build a job from its properties, the time `now`, and how many `parts` are unfinished."""
    known = convert_times({name: row[name] for name in Job.model_fields if row.get(name) is not None})
    nothing = dict.fromkeys(name for name, field in Job.model_fields.items() if field.is_required())
    if row["kind"] == SCAN_KIND and known.get("error") and get_visible_ontologies() is not None:
        known["error"] = OF_THE_MACHINE
    if row["state"] == JobState.QUEUED and row.get("running_parts"):
        row, known = {**row, "state": JobState.RUNNING}, {**known, "state": JobState.RUNNING}
    more = {"forced": row.get("forced_at") is not None, "stalled": _is_stalled(row)}
    return Job.model_validate({**nothing, **known, **more, **_read_speed(row)})


def _is_stalled(row: Row) -> bool:
    lease = row.get("lease_until")
    late = lease is not None and lease < row["now"]
    return row["state"] == JobState.RUNNING and (late or bool(row.get("stalled_parts")))


def _read_speed(row: Row) -> dict[str, float | None]:
    works = row["state"] == JobState.RUNNING or (row["state"] == JobState.QUEUED and row.get("parts"))
    moved = row["done"] - row["done_at_claim"]
    if not works or moved <= 0:
        return {"rate": None, "eta_seconds": None}
    seconds = (row["now"].to_native() - row["claimed_at"].to_native()).total_seconds()
    rate, rest = compute_speed(moved, seconds, row["total"] - row["done"])
    return {"rate": rate, "eta_seconds": rest}


def compute_speed(moved: int, seconds: float, left: int) -> tuple[float, float]:
    """Compute items per second, and how many seconds are needed for the items that are left."""
    # Significant digits keep a slow rate above zero
    rate = float(f"{moved / max(seconds, 0.001):.{RATE_DIGITS}g}")
    return rate, round(max(left, 0) / rate, 1)


# State of the queue


def read_queue_status(graph: Graph) -> QueueStatus:
    counted = graph.read("queue/status", hidden=list(PERIODIC_KINDS))[0]
    workers = [_build_worker(row) for row in graph.read("queue/workers")]
    return QueueStatus.model_validate({**counted, "workers": workers})


def is_touched(graph: Graph, *, within_seconds: float) -> bool:
    """Check if a worker has a job now, or has made progress within this time."""
    return bool(graph.read("queue/touched", seconds=within_seconds)[0]["touched"])


def list_recent_jobs(graph: Graph, ontology: str | None) -> list[Job]:
    """Read up to 1,000 unfinished jobs, and jobs that have ended in the last 30 seconds."""
    rows = graph.read("queue/lately", ontologies=resolve_ontology(ontology), hidden=list(PERIODIC_KINDS))
    return [build_job(row["job"]) for row in rows]


def _build_worker(row: Row) -> WorkerInfo:
    alive = row["seen_seconds_ago"] <= ALIVE_SECONDS
    return WorkerInfo.model_validate({**convert_times(row), "alive": alive})


# Requests for work
#
# A request creates a job or joins an unfinished one, and ends a pause.


def request_job(
    tx: Transaction,
    kind: str,
    ontology: str,
    *,
    added: int,
    selection: Selection = "due",
    force: bool = False,
    limited: bool = True,
    paused: bool = True,
    about: str | None = None,
) -> str:
    """Request work on an ontology in the caller's transaction. You get the id of the job."""
    if paused:
        set_paused(tx, kind, ontology, paused=False)
    fresh = build_new_job(kind, ontology, key=f"{kind}:{about or ontology}", selection=selection)
    return _request(tx, fresh, added, force=force, limited=limited, joins=True)[0]


def ensure_job(
    graph: Graph, kind: str, ontology: str, *, total: int, selection: Selection = "due", force: bool = False
) -> tuple[str, bool]:
    """Create a job if the ontology has no unfinished job. You get the id, and whether it is new."""
    fresh = build_new_job(kind, ontology, key=f"{kind}:{ontology}", selection=selection)
    options = {"force": force, "limited": True, "joins": False}
    return graph.transaction(lambda tx: _request(tx, fresh, total, **options))


def _request(
    tx: Transaction, fresh: dict[str, Any], added: int, *, force: bool, limited: bool, joins: bool
) -> tuple[str, bool]:
    """Request a job, and check if it is new. With `joins`, work can be added to an unfinished job."""
    while True:
        fresh = {**fresh, "job_id": uuid.uuid4().hex}
        row = tx.run("jobs/request", fresh=fresh, added=added, force=force, joins=joins)[0]
        if row["open"]:  # otherwise the job ended while this request waited for its lock
            if row["created"] and limited and not _has_room(tx, 0):
                raise TooBusy(
                    f"{tx.most_queued} jobs are waiting already: try again when the "
                    "workers have done some of them, or start more workers"
                )
            return row["job_id"], row["created"]


def can_accept_request(tx: Transaction, kind: str, ontology: str) -> bool:
    """Check if a request is possible now: there is an unfinished job, or room in the queue."""
    return is_requested(tx, kind, ontology) or _has_room(tx, 1)


def is_requested(tx: Transaction, kind: str, ontology: str) -> bool:
    """Check if there is an unfinished job to do this."""
    return bool(tx.run("jobs/holder_of_key", unique_key=f"{kind}:{ontology}"))


def is_any_requested(graph: Graph, kinds: Sequence[str], ontology: str) -> bool:
    return graph.transaction(lambda tx: any(is_requested(tx, kind, ontology) for kind in kinds))


def _has_room(tx: Transaction, more: int) -> bool:
    return tx.run("jobs/count_queued", limit=tx.most_queued + 1)[0]["queued"] + more <= tx.most_queued


def enqueue_slot(graph: Graph, kind: str, slot: str | None = None, *, every_seconds: float = 60.0) -> str:
    """Create a job for a slot in the schedule, if there is no unfinished job of this kind."""
    fresh = build_new_job(kind, None)
    del fresh["job_id"]
    return graph.write("jobs/enqueue_slot", slot=slot, every_seconds=every_seconds, fresh=fresh)[0]["job_id"]


def add_parts(graph: Graph, owner: Owner, kind: str, ontology: str, parts: Sequence[str]) -> None:
    """Split a running job into parts that any worker can claim. Idempotent."""
    # Progress of a part also counts for the parent. When the parent ends, its parts end.
    rows = [
        {"part": part, "unique_key": f"part:{owner.job_id}:{part}", "fresh": build_new_job(kind, ontology)}
        for part in parts
    ]
    if not graph.write("jobs/add_parts", **owner.parameters(), parts=rows)[0]["parts"]:
        raise owner.lost()


def read_unfinished_parts(graph: Graph, job_id: str) -> list[str]:
    return [row["part"] for row in graph.read("jobs/unfinished_parts", job_id=job_id)]


def set_paused(tx: Transaction, kind: str, ontology: str | None, *, paused: bool) -> None:
    """Pause or resume one kind of work on an ontology. If you request this kind, it will resume."""
    if kind == EXTRACTION:
        tx.run("extraction/pause", ontology=ontology, paused=paused)
    elif kind in PAUSING_KINDS:
        tx.run("jobs/pause", ontology=ontology, paused=paused)


# Cancellation, retries, and cleanup of old jobs

RETRIED = frozenset({JobState.FAILED, JobState.CANCELLED, JobState.SUCCEEDED_WITH_ERRORS})


def cancel_job(graph: Graph, job_id: str) -> Job:
    """End a queued or running job and its parts. The worker can no longer write."""
    # Cancelled embedding of an ontology stays paused until a user requests it.
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
        set_paused(tx, rows[0]["kind"], rows[0]["ontology"], paused=True)


def retry_job(graph: Graph, job_id: str) -> Job:
    """Queue a job again if it has failed or was cancelled, or start a waiting job now."""
    # A job that waits for higher priorities shares time slices with them from now on.
    try:
        graph.transaction(lambda tx: _retry(tx, job_id))
    except ConstraintError:  # another transaction just created a job with this key, which is visible now
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
        job = rows[0]
        if job["parent_id"] is not None and job["parent_state"] not in {JobState.QUEUED, JobState.RUNNING}:
            raise Conflict(
                f"job {job_id} is a part of job {job['parent_id']}, which has ended: retry that one"
            )
        for other in tx.run("jobs/holder_of_key", unique_key=job["key"]) if job["key"] else ():
            raise Conflict(f"job {other['job_id']} does the same work already: watch that one")
        tx.run("jobs/requeue", job_id=job_id, unique_key=job["key"], rank=get_job_rank(job["kind"]))
        set_paused(tx, job["kind"], job["ontology"], paused=False)
    elif state is JobState.RUNNING:
        raise Conflict(f"job {job_id} is running. To restart the job, cancel it first")
    else:
        raise Conflict(f"job {job_id} has succeeded: ask for new work instead")


def prune(graph: Graph, *, days: int) -> int:
    """Delete old jobs, up to 10,000 in each call, with lost workers and old cached responses."""
    graph.write("workers/forget_lost")
    delete_old_answers(graph)
    kinds = {"periodic": list(PERIODIC_KINDS), "asked_for": [EXTRACTION]}
    return graph.write("jobs/prune", days=days, **kinds)[0]["pruned"]
