"""Jobs as a person sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Reader, Row
from kg_api.graph.jobs.records import PERIODIC_KINDS, RANKS, SOURCE_EMBEDDING
from kg_api.graph.naming.reach import reach, reaches, within
from kg_api.models.jobs import Job, JobAhead
from kg_api.models.library.folders import SCAN_KIND
from kg_api.models.vocabulary import JobState
from kg_api.wording.nearest import suggestion

NEWEST = 100
"""Jobs that are looked through for one whose id is like a wrong one."""
MAX_COOLDOWN_SECONDS = 600
"""Seconds."""
MAX_IN_LINE = 50
RATE_DIGITS = 3
OF_THE_MACHINE = "its folder cannot be read: an administrator of kg sees why"


def find_job(graph: Graph, job_id: str) -> Job:
    """One job.

    Raises:
        NotFound: there is none by that id.
    """
    rows = graph.read("jobs/find", job_id=job_id)
    if not rows or not reaches(rows[0]["job"].get("ontology")):
        raise unknown_job(graph, job_id)
    return present_waiting(graph, [rows[0]["job"]])[0]


def unknown_job(graph: Graph, job_id: str) -> NotFound:
    """The error that says which of the newest jobs have an id like one that is not there."""
    newest, _ = page_of_jobs(graph, state=None, kind=None, ontology=None, offset=0, limit=NEWEST)
    near = suggestion(job_id, [job.job_id for job in newest])
    return NotFound(f"there is no job {job_id!r}{near}; `kg jobs list` shows the existing ones")


def page_of_jobs(
    graph: Graph, *, state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int
) -> tuple[list[Job], int]:
    """One page of jobs, the newest first, and how many there are in all. Parts of jobs are not among them."""
    hidden = [each for each in PERIODIC_KINDS if each != kind]
    chosen = {"state": state, "kind": kind, "ontologies": within(ontology), "hidden": hidden}
    rows = graph.read("jobs/page", **chosen, offset=offset, limit=limit)
    jobs = present_waiting(graph, [row["job"] for row in rows])
    return jobs, graph.read("jobs/count", **chosen)[0]["total"]


def parts_of(graph: Graph, job_id: str, *, limit: int) -> list[Job]:
    """Parts of a job, those that are still to be done first."""
    return [job_of(row["job"]) for row in graph.read("jobs/parts", job_id=job_id, limit=limit)]


def present_waiting(graph: Graph, rows: Sequence[Row]) -> list[Job]:
    """Jobs from their properties, those that could be taken with what they wait for."""
    line = jobs_in_line(graph) if any(map(_ready, rows)) else []
    return [
        job_of(row).model_copy(update={"waits_for": ahead_of(row["job_id"], row.get("rank") or 0, line)})
        if _ready(row)
        else job_of(row)
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class InLine:
    """A job that is at work or could be, as others see it that wait."""

    ahead: JobAhead
    rank: int
    at_work: bool


def jobs_in_line(graph: Graph) -> list[InLine]:
    """What is at work, and what could be taken, each in the order in which it goes."""
    rows = graph.read("queue/ahead", ranks=list(RANKS), hidden=list(PERIODIC_KINDS), limit=MAX_IN_LINE)
    return [InLine(_ahead(row["job"]), row["rank"], row["at_work"]) for row in rows]


def ahead_of(job_id: str, rank: int, line: Iterable[InLine]) -> JobAhead | None:
    """What a job of a rank waits for: one at work that is worth no less, else one that goes before it.

    None, too, where that is nothing for the eyes of whoever asks.
    """
    for each in line:
        if each.ahead.job_id != job_id and (each.rank < rank or (each.at_work and each.rank == rank)):
            return each.ahead if reaches(each.ahead.ontology) else None
    return None


def _ahead(row: Row) -> JobAhead:
    names = ("job_id", "kind", "ontology", "done", "total")
    return JobAhead.model_validate({**{name: row.get(name) for name in names}, **_speed(row)})


def _ready(row: Row) -> bool:
    """Whether it could be taken now; what has parts is not waiting for others."""
    return row["state"] == JobState.QUEUED and not row.get("parts") and row["run_after"] <= row["now"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an unfinished job is."""

    done: int
    total: int


def embedding_progress(graph: Graph, kind: str = SOURCE_EMBEDDING) -> dict[str, Progress]:
    """By ontology, how far the embedding of its sources is, or another kind of work, where it goes on."""
    rows = graph.read("jobs/unfinished", kind=kind)
    return {row["ontology"]: Progress(row["done"], row["total"]) for row in rows}


def rests(
    graph: Reader, kind: str, ontology: str, *, at_most: float, after_fault: float = MAX_COOLDOWN_SECONDS
) -> bool:
    """Whether work that has died shall not be begun again by itself yet.

    At once after one death, then 30 s, 90 s and so on up to ten minutes, or ten minutes after a death of
    what a person must mend.

    Args:
        graph: where the jobs are.
        kind: of the work.
        ontology: whose.
        at_most: seconds that this process runs: whoever started it anew has mended something.
        after_fault: seconds after a death of what a person must mend; endless: until somebody asks for it,
            whenever this process was started.
    """
    rows = graph.read("jobs/deaths", kind=kind, ontology=ontology)
    deaths = list(takewhile(lambda row: row["dead"], rows))
    if not deaths:
        return False
    seconds = (
        after_fault
        if deaths[0]["permanent"]
        else min(MAX_COOLDOWN_SECONDS, 30 * (2 ** (len(deaths) - 1) - 1))
    )
    return math.isinf(seconds) or deaths[0]["seconds"] < min(seconds, at_most)


def job_of(row: Row) -> Job:
    """A job from its properties, the time `now`, and how many unfinished `parts` it has."""
    known = {name: row[name] for name in Job.model_fields if row.get(name) is not None}
    nothing = dict.fromkeys(name for name, field in Job.model_fields.items() if field.is_required())
    times = {name: row[name].to_native() for name in _TIMES if row.get(name) is not None}
    if row["kind"] == SCAN_KIND and known.get("error") and reach() is not None:
        known["error"] = OF_THE_MACHINE
    if row["state"] == JobState.QUEUED and row.get("running_parts"):
        row, known = {**row, "state": JobState.RUNNING}, {**known, "state": JobState.RUNNING}
    more = {"forced": row.get("forced_at") is not None, "stalled": _is_stalled(row)}
    return Job.model_validate({**nothing, **known, **times, **more, **_speed(row)})


_TIMES = ("created_at", "started_at", "finished_at", "run_after")


def _is_stalled(row: Row) -> bool:
    lease = row.get("lease_until")
    late = lease is not None and lease < row["now"]
    return row["state"] == JobState.RUNNING and (late or bool(row.get("stalled_parts")))


def _speed(row: Row) -> dict[str, float | None]:
    works = row["state"] == JobState.RUNNING or (row["state"] == JobState.QUEUED and row.get("parts"))
    moved = row["done"] - row["done_at_claim"]
    if not works or moved <= 0:
        return {"rate": None, "eta_seconds": None}
    seconds = (row["now"].to_native() - row["claimed_at"].to_native()).total_seconds()
    rate, rest = speed(moved, seconds, row["total"] - row["done"])
    return {"rate": rate, "eta_seconds": rest}


def speed(moved: int, seconds: float, left: int) -> tuple[float, float]:
    """Items a second, and the seconds that the rest takes at exactly that rate. Pure.

    Args:
        moved: items done, at least one.
        seconds: that they took.
        left: items to do; less than none where more was done than was counted.
    """
    rate = float(f"{moved / max(seconds, 0.001):.{RATE_DIGITS}g}")  # a slow one is not rounded to nothing
    return rate, round(max(left, 0) / rate, 1)
