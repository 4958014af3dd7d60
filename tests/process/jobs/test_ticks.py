"""Every worker ticks; a slot of the schedule is one job all the same (G22)."""

from __future__ import annotations

import time

import neo4j

from tests.process.jobs.crew import Crew

SECONDS = 5


def test_three_workers_make_one_job_a_slot(crew: Crew, driver: neo4j.Driver) -> None:
    workers = [crew.hire_and_wait(env={"KG_WORKER__TICK_SECONDS": "1"}) for _ in range(3)]
    begun = int(time.time())
    time.sleep(SECONDS)
    ended = int(time.time())
    assert [worker.stop() for worker in workers] == [0, 0, 0]
    with driver.session() as session:
        rows = session.run("MATCH (j:Job) RETURN j.job_id AS id, j.kind AS kind, j.attempts AS n").data()
    assert {row["kind"] for row in rows} == {"backfill"}
    slots = sorted(int(row["id"].removeprefix("backfill-")) for row in rows)
    inside = [slot for slot in slots if begun <= slot <= ended]
    assert len(inside) == len(set(inside)) <= SECONDS + 2, "15 ticks in 5 slots are 5 jobs"
    assert len(inside) >= SECONDS // 2, "they go on; a slot is left out only while one before it runs"
    assert {row["n"] for row in rows} <= {0, 1}, "each ran once"
    assert sum(row["n"] for row in rows) >= len(rows) - 1
