"""How a job gets on: its place, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kg_api.errors import LeaseLost
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.jobs.records import Owner
from kg_api.models.vocabulary import Selection


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What was asked for while the job ran."""

    wanted: int
    selection: Selection
    forced_at: Any


def advance(tx: Transaction, owner: Owner, *, before: str, after: str, done: int, set_aside: int = 0) -> None:
    """Move the job's cursor within the transaction of the work it stands for.

    Raises:
        LeaseLost: another worker has the job, or it or its whole has ended; the transaction must not be
            committed.
    """
    places = {"before": before, "after": after, "done": done, "set_aside": set_aside}
    rows = tx.run("jobs/advance", **owner.parameters(), **places, lease_seconds=owner.lease_seconds)
    if not rows or not rows[0]["advanced"]:
        raise LeaseLost(f"job {owner.job_id} is owned by another worker now, or has ended")


def expect(graph: Graph, owner: Owner, *, left: int) -> None:
    """Correct a job's total by what is left to do.

    Raises:
        LeaseLost: another worker has the job, or it has ended.
    """
    if not graph.write("jobs/expect", **owner.parameters(), left=left):
        raise LeaseLost(f"job {owner.job_id} is owned by another worker now, or has ended")


def lower(graph: Graph, owner: Owner, *, wanted: int, rank: int) -> int | JobRequest:
    """Let what is worth more go first from now on; the rank, or what was asked for meanwhile: do that first.

    What a person has put first keeps its rank.

    Raises:
        LeaseLost: another worker has the job, or it has ended.
    """
    rows = graph.write("jobs/lower", **owner.parameters(), wanted=wanted, rank=rank)
    if not rows:
        raise LeaseLost(f"job {owner.job_id} is owned by another worker now, or has ended")
    return rows[0]["rank"] if rows[0]["last"] else _asked(rows[0])


def finish(graph: Graph, owner: Owner, *, wanted: int) -> JobRequest | None:
    """End the job; or give what was asked for meanwhile, and the job goes on.

    Raises:
        LeaseLost: another worker has the job, or it has ended.
    """

    def end(tx: Transaction) -> list[Row]:
        rows = tx.run("jobs/finish", **owner.parameters(), wanted=wanted)
        if rows and rows[0]["finished"]:
            tx.run("jobs/end_parts", job_id=owner.job_id)
        return rows

    rows = graph.transaction(end)
    if not rows or not rows[0]["owned"]:
        raise LeaseLost(f"job {owner.job_id} is owned by another worker now, or has ended")
    return None if rows[0]["finished"] else _asked(rows[0])


def _asked(row: Row) -> JobRequest:
    return JobRequest(row["wanted"], row["selection"], row["forced_at"])
