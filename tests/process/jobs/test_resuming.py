"""Tests that a job can be resumed exactly, because data and cursor are written in one transaction (G9,
G10)."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.graph.client import Graph
from tests.process.jobs.crew import BATCH, Crew, assert_all_embedded, seed, until_done
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
