"""Asking for work: jobs are made, or joined where one is unfinished; and the pauses that this ends."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.errors import LeaseLost, TooBusy
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs.records import EXTRACTION, PAUSING_KINDS, Owner, fresh_job
from kg_api.models.vocabulary import Selection


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
) -> str:
    """Ask for work on an ontology within the caller's transaction; give the id of the job that will do it.

    Args:
        tx: the transaction that makes the work.
        kind: of the job.
        ontology: whose work; one that was paused by a cancelled job is so no longer.
        added: how many items come to the job's total.
        selection: what it is about; an unfinished job that is about something else is about all then.
        force: whether to make anew what was made before now, though it is right.
        limited: whether to refuse where too many wait; not for who has looked by `would_be_taken`, and whose
            own work must not be undone because others asked in between.
        paused: whether it may be paused; not for who has just seen that it is not.

    Raises:
        TooBusy: another job would be made, and too many wait; the transaction must not be committed.
    """
    key = f"{kind}:{ontology}"
    if paused:
        unpause(tx, kind, ontology)
    while True:
        fresh = fresh_job(kind, ontology, key=key, selection=selection)
        row = tx.run("jobs/request", unique_key=key, fresh=fresh, added=added, force=force)[0]
        if row["open"]:
            _refuse_too_many(tx, created=row["created"] and limited)
            return str(row["job_id"])


def ensure_job(
    graph: Graph,
    kind: str,
    ontology: str,
    *,
    total: int,
    selection: Selection = "due",
    force: bool = False,
) -> tuple[str, bool]:
    """Make a job for an ontology unless one is unfinished; (its id, whether it is new).

    Raises:
        TooBusy: it would be new, and too many wait.
    """
    key = f"{kind}:{ontology}"
    fresh = fresh_job(kind, ontology, key=key, selection=selection)

    def ensure(tx: Transaction) -> tuple[str, bool]:
        row = tx.run("jobs/ensure", unique_key=key, fresh=fresh, total=total, force=force)[0]
        _refuse_too_many(tx, created=row["created"])
        return row["job_id"], row["created"]

    return graph.transaction(ensure)


def would_be_taken(tx: Transaction, kind: str, ontology: str) -> bool:
    """Whether work could be asked for now: it joins an unfinished job, or one more may wait."""
    return is_asked_for(tx, kind, ontology) or _has_room(tx, 1)


def is_asked_for(tx: Transaction, kind: str, ontology: str) -> bool:
    """Whether there is an unfinished job for that work."""
    return bool(tx.run("jobs/holder_of_key", unique_key=f"{kind}:{ontology}"))


def is_any_asked_for(graph: Graph, kinds: Sequence[str], ontology: str) -> bool:
    """Whether there is an unfinished job of any of these kinds."""
    return graph.transaction(lambda tx: any(is_asked_for(tx, kind, ontology) for kind in kinds))


def _refuse_too_many(tx: Transaction, *, created: bool) -> None:
    if created and not _has_room(tx, 0):
        raise TooBusy(
            f"{tx.most_queued} jobs are waiting already (KG_WORKER__MOST_QUEUED): try again when the "
            "workers have done some of them, or start more workers"
        )


def _has_room(tx: Transaction, more: int) -> bool:
    return tx.run("jobs/count_queued", limit=tx.most_queued + 1)[0]["queued"] + more <= tx.most_queued


def enqueue_slot(graph: Graph, kind: str, slot: str | None = None, *, every_seconds: float = 60.0) -> str:
    """Make the one job of a schedule's slot, unless one of the kind is unfinished; give the slot's job id.

    Args:
        graph: where the jobs are.
        kind: of the job.
        slot: its name; None: the one of the database's time.
        every_seconds: how long such a slot is.
    """
    fresh = fresh_job(kind, None)
    del fresh["job_id"]
    return graph.write("jobs/enqueue_slot", slot=slot, every_seconds=every_seconds, fresh=fresh)[0]["job_id"]


def add_parts(graph: Graph, owner: Owner, kind: str, ontology: str, parts: Sequence[str]) -> None:
    """Divide a running job: each part is a job of its own, which any worker may take. Safe to repeat.

    What a part gets done counts for the whole too. When the whole ends, in whatever way, its parts do.

    Args:
        graph: where the jobs are.
        owner: who has the whole.
        kind: of the parts.
        ontology: whose work.
        parts: what each is about, such as ranges of document ids, `lo:hi`.

    Raises:
        LeaseLost: the whole has another owner, or has ended; no part was made.
    """
    if not parts:
        return
    rows = [
        {"part": part, "unique_key": f"part:{owner.job_id}:{part}", "fresh": fresh_job(kind, ontology)}
        for part in parts
    ]
    if not graph.write("jobs/add_parts", **owner.parameters(), parts=rows)[0]["parts"]:
        raise LeaseLost(f"job {owner.job_id} has another owner now")


def unfinished_parts(graph: Graph, job_id: str) -> list[str]:
    """The parts of a job that wait or run."""
    return [row["part"] for row in graph.read("jobs/unfinished_parts", job_id=job_id)]


def pause(tx: Transaction, kind: str, ontology: str | None) -> None:
    """Leave an ontology alone until somebody asks for that kind of work; for other kinds nothing is done."""
    if kind == EXTRACTION:
        tx.run("extraction/pause", ontology=ontology)
    elif kind in PAUSING_KINDS:
        tx.run("jobs/pause", ontology=ontology)


def unpause(tx: Transaction, kind: str, ontology: str | None) -> None:
    if kind == EXTRACTION:
        tx.run("extraction/unpause", ontology=ontology)
    elif kind in PAUSING_KINDS:
        tx.run("jobs/unpause", ontology=ontology)
