"""Taking jobs, keeping them, giving them back. All times are the database's own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import takewhile

from kg_api.errors import LeaseLost
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.jobs.records import RANKS, ClaimedJob, Owner
from kg_api.graph.jobs.workers import ALIVE_SECONDS

MAX_CANDIDATES = 10


def claim(
    graph: Graph, worker: str, kinds: list[str], *, lease_seconds: float, max_failures: int
) -> ClaimedJob | None:
    """Take a job, if one can be had. One that failed too often comes back in state dead, not to be run.

    As long as a job of a smaller rank runs anywhere, none of a greater one is taken. Of those of one rank,
    ontologies for which the fewest jobs run come first, then the jobs that are the longest in the queue. Of
    equal ones each of several workers tries another first, so that they do not wait for each other's locks.
    """
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
        for job_id in _in_turn(rows):
            job = _take(graph, worker, job_id, lease_seconds, max_failures)
            if job is not None:
                return job


def _in_turn(rows: Sequence[Row]) -> list[str]:
    """The equal ones at the head, as many as there are workers, shuffled."""
    equal = [row["job_id"] for row in takewhile(lambda row: row["rank"] == rows[0]["rank"], rows)]
    head = equal[: max(1, rows[0]["workers"])]
    return random.sample(head, len(head))


def _take(
    graph: Graph, worker: str, job_id: str, lease_seconds: float, max_failures: int
) -> ClaimedJob | None:
    def take(tx: Transaction) -> ClaimedJob | None:
        rows = tx.run(
            "jobs/take", worker=worker, job_id=job_id, lease_seconds=lease_seconds, max_failures=max_failures
        )
        if rows and rows[0]["state"] == "dead":
            tx.run("jobs/end_parts", job_id=job_id)
        return ClaimedJob(**rows[0]) if rows else None

    return graph.transaction(take)


def heartbeat(graph: Graph, owner: Owner, *, stuck_seconds: float = 86_400.0) -> bool:
    """Renew the lease; False when the job got nothing done for so long that it is dead now.

    Raises:
        LeaseLost: another worker has the job, or it has ended.
    """
    told = f"timeout: nothing was done for {stuck_seconds:g} s (KG_WORKER__STUCK_SECONDS)"

    def beat(tx: Transaction) -> list[Row]:
        rows = tx.run(
            "jobs/heartbeat",
            **owner.parameters(),
            lease_seconds=owner.lease_seconds,
            stuck_seconds=stuck_seconds,
            error=told,
        )
        if rows and rows[0]["stuck"]:
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows

    rows = graph.transaction(beat)
    if not rows:
        raise LeaseLost(f"job {owner.job_id} is owned by another worker now, or has ended")
    return not rows[0]["stuck"]


def others_wait(graph: Graph, job: ClaimedJob, kinds: Sequence[str], *, over: bool = True) -> bool:
    """Whether a job shall let others go first.

    Args:
        graph: where they are.
        job: that runs.
        kinds: what its worker can do.
        over: whether its turn is over, so that others of its rank go first too: those of another ontology or
            kind, or the whole of this part. Of a smaller rank all do, at any time.
    """
    about = {"kind": job.kind, "ontology": job.ontology or "", "parent_id": job.parent_id, "rank": job.rank}
    rows = graph.read("jobs/others_wait", kinds=list(kinds), over=over, **about)
    return bool(rows[0]["others"])


def fail(
    graph: Graph, owner: Owner, error: str, *, delay_seconds: float, max_failures: int, permanent: bool
) -> str:
    """Record a failure; give the state the job is in now."""

    def record_failure(tx: Transaction) -> str:
        rows = tx.run(
            "jobs/fail",
            **owner.parameters(),
            error=error,
            delay_seconds=delay_seconds,
            max_failures=max_failures,
            permanent=permanent,
        )
        if rows and rows[0]["state"] == "dead":
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows[0]["state"] if rows else "lost"

    return graph.transaction(record_failure)


def wait(graph: Graph, owner: Owner, error: str, *, delay_seconds: float) -> None:
    """Give the job back for a while: something that it needs does not answer."""
    graph.write("jobs/wait", **owner.parameters(), error=error, delay_seconds=delay_seconds)


def release(graph: Graph, owner: Owner) -> None:
    """Give the job back; another worker may take it at once."""
    graph.write("jobs/release", **owner.parameters())


def yield_job(graph: Graph, owner: Owner, *, delay_seconds: float = 0.0) -> None:
    """Let others go first: the job goes to the end of the queue, and may be had after a while."""
    graph.write("jobs/give_back", **owner.parameters(), delay_seconds=delay_seconds)
