"""Tests that there is one job for each slot of the schedule (G22), only one if several were missed (G23),
and that only the clock of the database is used (G26)."""

import json
import signal
import time
from collections import Counter
from itertools import pairwise

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job
from tests.process.jobs.crew import (
    BATCH,
    LEASE,
    POLL,
    Crew,
    assert_all_embedded,
    said,
    seed,
    until_done,
    until_owned,
    until_progress,
)
from tests.support.cypher import rows
from tests.support.running import Running, wait_until

SLOTS = 3
CLOCKS = (600.0, 0.0, -600.0)
"""Number of seconds to add to the clock of each worker. Only the clock of the database should be used."""
ALL = "MATCH (j:Job) RETURN j.job_id AS id, j.kind AS kind"


def test_wrong_worker_clocks_cause_one_job_per_slot(crew: Crew, driver: neo4j.Driver) -> None:
    """On a busy machine, a job can be claimed twice, but it should be completed only once."""
    env = {"KG_WORKER__TICK_SECONDS": "1", "KG_WORKER__LEASE_SECONDS": "30"}
    workers = [crew.hire_and_wait(env=env, clock=clock) for clock in CLOCKS]
    begun, before = now(driver), len(rows(driver, ALL))
    wait_until(lambda: len(rows(driver, ALL)) >= before + SLOTS, 60)
    made, seconds = rows(driver, ALL), now(driver) - begun
    assert [worker.stop() for worker in workers] == [0, 0, 0]
    assert {row["kind"] for row in made} == {"backfill"}
    slots = [int(row["id"].removeprefix("backfill-")) for row in made]
    assert len(slots) - before <= seconds + 2, "three ticks in each slot are one job"
    assert len(set(slots)) == len(slots)
    completed = Counter(job for worker in workers for job in completed_by(worker))
    assert set(completed.values()) == {1}, "each ran once"
    assert len(completed) >= SLOTS - 1, "they go on; a slot is left out only while one before it runs"


def completed_by(worker: Running) -> list[str]:
    lines = [json.loads(line) for line in worker.output().splitlines() if line[:1] == "{"]
    return [line["job_id"] for line in lines if line["event"] == "job succeeded"]


def test_missed_slots_cause_one_job(crew: Crew, driver: neo4j.Driver) -> None:
    """By default, APScheduler skips a run if it is one second late."""
    worker = crew.hire_and_wait(env={"KG_WORKER__TICK_SECONDS": "1"})
    wait_until(lambda: len(made_since(driver, 0)) > 1, 20, worker.output)
    worker.signal(signal.SIGSTOP)
    time.sleep(4)
    returned = now(driver)
    worker.signal(signal.SIGCONT)
    wait_until(lambda: bool(made_since(driver, returned)), 10, worker.output)
    assert len(made_since(driver, returned)) <= now(driver) - returned + 1, "one a slot"
    assert gap(driver) >= 3, "nothing was made for a slot that had passed"
    wait_until(lambda: len(made_since(driver, returned)) > 2, 20, worker.output)
    assert not said(worker, "tick missed")
    assert "was missed by" not in worker.output()


def made_since(driver: neo4j.Driver, moment: float) -> list[float]:
    made = rows(
        driver,
        "MATCH (j:Job {kind: 'backfill'}) WITH j.created_at.epochMillis / 1000.0 AS at "
        "WHERE at >= $moment RETURN at ORDER BY at",
        moment=moment,
    )
    return [row["at"] for row in made]


def gap(driver: neo4j.Driver) -> float:
    made = made_since(driver, 0)
    return max(after - before for before, after in pairwise(made))


def now(driver: neo4j.Driver) -> float:
    return rows(driver, "RETURN datetime.realtime().epochMillis / 1000.0 AS now")[0]["now"]


AHEAD, BEHIND = 600.0, -600.0
MARGIN = 60.0


@pytest.mark.parametrize(
    ("owner_clock", "other_clock"), [(BEHIND, AHEAD), pytest.param(AHEAD, BEHIND, marks=pytest.mark.full)]
)
def test_wrong_clock_neither_loses_nor_keeps_a_job(
    crew: Crew, graph: Graph, driver: neo4j.Driver, owner_clock: float, other_clock: float
) -> None:
    job_id = seed(graph, 3 * BATCH)
    owner = crew.hire_and_wait(2 * LEASE, clock=owner_clock)
    first = until_owned(graph, job_id)
    other = crew.hire_and_wait(clock=other_clock)
    until_progress(graph, job_id)
    assert (find_job(graph, job_id).attempts, crew.batches(other)) == (1, []), "it was stolen"
    owner.kill()
    begun = time.monotonic()
    until_owned(graph, job_id, other_than=first.worker)
    assert time.monotonic() - begun <= LEASE + POLL + MARGIN, "it stuck"
    assert until_done(graph, job_id).attempts == 2
    assert_all_embedded(driver, 3 * BATCH)
    clocks = [next(crew.notes("clock", worker.process.pid)) for worker in (owner, other)]
    assert clocks == [[pytest.approx(clock, abs=1)] * 2 for clock in (owner_clock, other_clock)]


def test_retry_time_follows_the_database_clock(crew: Crew, graph: Graph) -> None:
    job_id = seed(graph, BATCH)
    crew.hire(clock=BEHIND, fault="raise", place="embedding", at=1)
    begun = time.monotonic()
    assert until_done(graph, job_id).attempts == 2
    assert time.monotonic() - begun < 30, "a second later, not ten minutes"
