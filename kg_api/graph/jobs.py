"""Jobs as they are stored: durable, claimed by one worker at a time, fenced.

All times are the database's own, so a worker whose clock is wrong neither steals nor keeps a job.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from kg_api.errors import LeaseLost, NotFound
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.models.jobs import Job, JobState

LONGEST_REST = 600
"""Seconds."""
PERIODIC_KINDS = ("backfill",)
"""Kinds made by a schedule; hidden from lists unless asked for by kind."""


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
    stumbles: int
    waits: int
    """How often in a row it has waited for something else."""


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


def _fresh(kind: str, ontology: str | None, job_id: str | None = None) -> dict[str, Any]:
    return {
        "job_id": job_id or uuid.uuid4().hex,
        "kind": kind,
        "ontology": ontology,
        "state": JobState.QUEUED.value,
        "cursor": "",
        **dict.fromkeys(
            ("done", "total", "done_at_claim", "wanted", "attempts", "stumbles", "waits", "fence"), 0
        ),
    }


def request_job(tx: Transaction, kind: str, ontology: str, *, added: int) -> str:
    """Ask for work on an ontology within the caller's transaction; give the id of the job that will do it."""
    while True:
        fresh = _fresh(kind, ontology)
        row = tx.run("jobs/request", unique_key=f"{kind}:{ontology}", fresh=fresh, added=added)[0]
        if row["open"]:
            return str(row["job_id"])


def ensure_job(graph: Graph, kind: str, ontology: str, *, total: int) -> tuple[str, bool]:
    """Make a job for an ontology unless one is unfinished; (its id, whether it is new)."""
    key = f"{kind}:{ontology}"
    row = graph.write("jobs/ensure", unique_key=key, fresh=_fresh(kind, ontology), total=total)[0]
    return row["job_id"], row["created"]


def rests(graph: Graph, kind: str, ontology: str, *, at_most: float) -> bool:
    """Whether work that has died shall not be begun again by itself yet.

    At once after one death, then 30 s, 90 s and so on up to ten minutes, or ten minutes after a death of
    what a person must mend.

    Args:
        graph: where the jobs are.
        kind: of the work.
        ontology: whose.
        at_most: seconds that this process runs: whoever started it anew has mended something.
    """
    rows = graph.read("jobs/deaths", kind=kind, ontology=ontology)
    deaths = list(takewhile(lambda row: row["dead"], rows))
    if not deaths:
        return False
    seconds = (
        LONGEST_REST if deaths[0]["permanent"] else min(LONGEST_REST, 15 * (2 ** (len(deaths) - 1) - 1) * 2)
    )
    return deaths[0]["seconds"] < min(seconds, at_most)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an unfinished job is."""

    done: int
    total: int


def embedding_progress(graph: Graph) -> dict[str, Progress]:
    """By ontology, how far the embedding of its sources is, where it is not at its end."""
    rows = graph.read("jobs/unfinished", kind="source_embedding")
    return {row["ontology"]: Progress(row["done"], row["total"]) for row in rows}


def enqueue_slot(graph: Graph, kind: str, slot: str) -> str:
    """Make the one job of a schedule's slot, unless one of the kind is unfinished; give the slot's id."""
    job_id = f"{kind}-{slot}"
    graph.write("jobs/enqueue_slot", job_id=job_id, fresh=_fresh(kind, None, job_id))
    return job_id


def claim(
    graph: Graph, worker: str, kinds: list[str], *, lease_seconds: float, max_stumbles: int
) -> ClaimedJob | None:
    """Take a job, if one can be had. One that stumbled too often comes back in state dead, not to be run."""
    rows = graph.write(
        "jobs/claim", worker=worker, kinds=kinds, lease_seconds=lease_seconds, max_stumbles=max_stumbles
    )
    return ClaimedJob(**rows[0]) if rows else None


def heartbeat(graph: Graph, owner: Owner) -> None:
    """Renew the lease.

    Raises:
        LeaseLost: another worker has the job.
    """
    if not graph.write("jobs/heartbeat", **owner.parameters(), lease_seconds=owner.lease_seconds):
        raise LeaseLost(f"job {owner.job_id} has another owner now")


def advance(tx: Transaction, owner: Owner, *, before: str, after: str, done: int) -> None:
    """Move the job's cursor within the transaction of the work it stands for.

    Raises:
        LeaseLost: another worker has the job; the transaction must not be committed.
    """
    places = {"before": before, "after": after, "done": done}
    rows = tx.run("jobs/advance", **owner.parameters(), **places, lease_seconds=owner.lease_seconds)
    if not rows or not rows[0]["advanced"]:
        raise LeaseLost(f"job {owner.job_id} has another owner now")


def finish(graph: Graph, owner: Owner, *, wanted: int) -> int | None:
    """End the job; or give the new `wanted` when work was asked for meanwhile and the job goes on.

    Raises:
        LeaseLost: another worker has the job.
    """
    rows = graph.write("jobs/finish", **owner.parameters(), wanted=wanted)
    if not rows or not rows[0]["owned"]:
        raise LeaseLost(f"job {owner.job_id} has another owner now")
    return None if rows[0]["finished"] else rows[0]["wanted"]


def fail(
    graph: Graph, owner: Owner, error: str, *, delay_seconds: float, max_stumbles: int, permanent: bool
) -> str:
    """Record a failure; give the state the job is in now."""
    rows = graph.write(
        "jobs/fail",
        **owner.parameters(),
        error=error,
        delay_seconds=delay_seconds,
        max_stumbles=max_stumbles,
        permanent=permanent,
    )
    return rows[0]["state"] if rows else "lost"


def wait(graph: Graph, owner: Owner, error: str, *, delay_seconds: float) -> None:
    """Give the job back for a while: something that it needs does not answer."""
    graph.write("jobs/wait", **owner.parameters(), error=error, delay_seconds=delay_seconds)


def release(graph: Graph, owner: Owner) -> None:
    """Give the job back; another worker may take it at once."""
    graph.write("jobs/release", **owner.parameters())


def prune(graph: Graph, *, days: int) -> int:
    """Forget finished jobs older than that; at most 10,000 a call."""
    return graph.write("jobs/prune", days=days, periodic=list(PERIODIC_KINDS))[0]["pruned"]


def find_job(graph: Graph, job_id: str) -> Job:
    """One job.

    Raises:
        NotFound: there is none by that id.
    """
    rows = graph.read("jobs/find", job_id=job_id)
    if not rows:
        raise NotFound(f"there is no job {job_id!r}; `kg jobs list` shows those there are")
    return _job(rows[0]["job"])


def page_of_jobs(
    graph: Graph, *, state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int
) -> tuple[list[Job], int]:
    """One page of jobs, the newest first, and how many there are in all."""
    hidden = [each for each in PERIODIC_KINDS if each != kind]
    chosen = {"state": state, "kind": kind, "ontology": ontology, "hidden": hidden}
    rows = graph.read("jobs/page", **chosen, offset=offset, limit=limit)
    return [_job(row["job"]) for row in rows], graph.read("jobs/count", **chosen)[0]["total"]


def _job(row: Row) -> Job:
    known = {name: row.get(name) for name in Job.model_fields}
    times = {name: row[name].to_native() for name in _TIMES if row.get(name) is not None}
    return Job.model_validate({**known, **times, **_speed(row)})


_TIMES = ("created_at", "started_at", "finished_at", "run_after")


def _speed(row: Row) -> dict[str, float | None]:
    if row["state"] != JobState.RUNNING or row["done"] == row["done_at_claim"]:
        return {"rate": None, "eta_seconds": None}
    seconds = (row["now"].to_native() - row["claimed_at"].to_native()).total_seconds()
    rate = (row["done"] - row["done_at_claim"]) / max(seconds, 0.001)
    return {"rate": round(rate, 2), "eta_seconds": round((row["total"] - row["done"]) / rate, 1)}
