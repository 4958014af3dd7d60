"""Tests that a job can be resumed exactly, because data and cursor are written in one transaction (G9,
G10)."""

from __future__ import annotations

import time

import neo4j
import pytest

from kg_api.graph.client import Graph
from tests.process.jobs.crew import BATCH, PATIENCE, Crew, assert_all_embedded, seed, tell, until_done
from tests.support.running import wait_until
from tests.support.worker_main import Fault, Place

BATCHES = 12


def test_failed_job_resumes_at_its_seventh_batch(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    job_id = seed(graph, BATCHES * BATCH)
    crew.hire(fault="raise", place="embedding", at=7)
    done = until_done(graph, job_id)
    batches = crew.batches()
    assert batches[6] == batches[7], "the seventh batch is the one that is tried again"
    assert len(batches) == BATCHES + 1
    assert crew.embedded_again() == BATCH
    assert (done.attempts, done.done, done.total, done.error) == (2, BATCHES * BATCH, BATCHES * BATCH, None)
    assert_all_embedded(driver, BATCHES * BATCH)


@pytest.mark.parametrize(
    ("place", "fault"), [("before_cursor", "raise"), ("before_commit", "die"), ("after_commit", "die")]
)
def test_failure_between_data_and_cursor_leaves_no_gap(
    crew: Crew, graph: Graph, driver: neo4j.Driver, place: Place, fault: Fault
) -> None:
    job_id = seed(graph, 4 * BATCH)
    first = crew.hire(fault=fault, place=place, at=2)
    if fault == "die":
        first.process.wait(60)
        crew.hire()
    done = until_done(graph, job_id)
    assert (crew.folder / f"faults-{first.process.pid}").read_text() == place
    assert (done.attempts, done.done, done.total) == (2, 4 * BATCH, 4 * BATCH)
    batches = crew.batches()
    assert batches.count(batches[1]) == 1, "the cache keeps what the lost batch had made"
    assert crew.embedded_again() <= BATCH, "the batch after it may have been at the model"
    assert_all_embedded(driver, 4 * BATCH)


@pytest.mark.full
@pytest.mark.parametrize("place", ["before_cursor", "before_commit"])
def test_worker_frozen_in_a_transaction_releases_its_job(
    crew: Crew, graph: Graph, driver: neo4j.Driver, place: Place
) -> None:
    """Its transaction has locks until it is aborted by the server, after db.transaction.timeout (120
    s)."""
    job_id = seed(graph, 4 * BATCH)
    frozen = crew.hire(fault="freeze", place=place, at=2)
    wait_until((crew.folder / f"faults-{frozen.process.pid}").exists, PATIENCE)
    crew.hire()
    begun = time.monotonic()
    until_done(graph, job_id, seconds=180)
    tell(f"frozen {place}: done {time.monotonic() - begun:.0f} s later")
    assert_all_embedded(driver, 4 * BATCH)
