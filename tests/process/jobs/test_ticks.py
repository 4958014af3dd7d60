"""Every worker ticks; a slot of the schedule is one job all the same (G22)."""

from __future__ import annotations

import time

import neo4j

from kg_api.graph.database import Graph
from tests.process.jobs.crew import Crew

SECONDS = 5


def test_three_workers_make_one_job_a_slot(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    workers = [crew.hire_and_wait(env={"KG_WORKER__TICK_SECONDS": "1"}) for _ in range(3)]
    begun = int(time.time())
    time.sleep(SECONDS)
    ended = int(time.time())
    assert [worker.stop() for worker in workers] == [0, 0, 0]
    with driver.session() as session:
        rows = session.run("MATCH (j:Job) RETURN j.job_id AS id, j.kind AS kind, j.attempts AS n").data()
    assert {row["kind"] for row in rows} == {"backfill"}
    slots = sorted(int(row["id"].removeprefix("backfill-")) for row in rows)
    inside = [slot for slot in slots if begun < slot < ended]
    assert inside == [*range(begun + 1, ended)], "one job a slot, none left out"
    ran = [row for row in rows if row["n"]]
    assert all(row["n"] == 1 for row in ran), "each ran once"
    assert len(ran) >= len(rows) - 1
    assert graph.read("jobs/count", state="dead", kind=None, ontology=None, hidden=[])[0]["total"] == 0
