"""Tests that a worker finishes its batch and releases the job when it gets a signal (G19, G20)."""

import signal
import time

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import (
    BATCH,
    PATIENCE,
    Crew,
    assert_all_embedded,
    failures,
    seed,
    until_done,
    until_owned,
)
from tests.support.running import wait_until

LONG_LEASE = {"KG_WORKER__LEASE_SECONDS": "600", "KG_WORKER__HEARTBEAT_SECONDS": "200"}
"""Lease that is too long to wait for, so that a job can only be claimed if it was released."""
AT_ONCE = 5.0


def test_signal_finishes_batch_and_releases_the_job(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    job_id = seed(graph, 20 * BATCH)
    first = crew.hire(1.5, env=LONG_LEASE)
    owner = until_owned(graph, job_id)
    crew.hire_and_wait(env=LONG_LEASE)
    wait_until(lambda: len(crew.batches(first)) > find_job(graph, job_id).done // BATCH, PATIENCE)
    begun = len(crew.batches(first))
    first.signal(signal.SIGTERM)
    assert first.process.wait(20) == 0, first.output()
    left = time.monotonic()
    until_owned(graph, job_id, other_than=owner.worker)
    assert time.monotonic() - left < AT_ONCE
    done = until_done(graph, job_id)
    assert len(crew.batches(first)) == begun, "no batch is begun after the signal"
    assert crew.embedded_again() == 0, "the batch at hand was ended"
    assert (done.attempts, failures(driver, job_id)) == (2, 0)
    assert_all_embedded(driver, 20 * BATCH)


def test_signal_ends_idle_and_waiting_workers(crew: Crew) -> None:
    idle = crew.hire_and_wait()
    lonely = crew.hire(env={"KG_NEO4J__URI": "bolt://127.0.0.1:1"})
    wait_until(lambda: '"event": "waiting"' in lonely.output(), PATIENCE, lonely.output)
    begun = time.monotonic()
    assert (idle.stop(), lonely.stop()) == (0, 0), idle.output() + lonely.output()
    assert time.monotonic() - begun < 10


def test_second_signal_ends_the_worker_without_loss(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    job_id = seed(graph, 3 * BATCH)
    first = crew.hire(30.0)
    wait_until(lambda: bool(crew.batches(first)), PATIENCE)
    first.signal(signal.SIGTERM)
    time.sleep(0.3)
    assert first.process.poll() is None, "the first signal lets the batch end"
    assert find_job(graph, job_id).state is JobState.RUNNING
    first.signal(signal.SIGTERM)
    begun = time.monotonic()
    assert first.process.wait(60) != 0
    assert time.monotonic() - begun < AT_ONCE, "not the 30 s of a batch"
    crew.hire()
    assert until_done(graph, job_id).done == 3 * BATCH
    assert_all_embedded(driver, 3 * BATCH)


def test_batch_beyond_grace_period_passes_to_next_worker(
    crew: Crew, graph: Graph, driver: neo4j.Driver
) -> None:
    job_id = seed(graph, 2 * BATCH)
    first = crew.hire(60.0, env={"KG_WORKER__GRACE_SECONDS": "1"})
    wait_until(lambda: bool(crew.batches(first)), PATIENCE)
    first.signal(signal.SIGTERM)
    begun = time.monotonic()
    assert first.process.wait(60) != 0
    assert 0.9 < time.monotonic() - begun < 1 + AT_ONCE
    crew.hire()
    assert until_done(graph, job_id).done == 2 * BATCH
    assert_all_embedded(driver, 2 * BATCH)
