"""Tests that only the clock of the database is used (G26). The clocks of the workers are wrong by ten
minutes."""

from __future__ import annotations

import time

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
    seed,
    until_done,
    until_owned,
    until_progress,
)

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
