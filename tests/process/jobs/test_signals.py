"""Workers that are told to end: they end their batch and give the job back (G19, G20)."""

from __future__ import annotations

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
"""With it a job that was not given back would never be taken in time."""
AT_ONCE = 5.0


def test_a_signal_ends_the_batch_and_gives_the_job_to_the_next_at_once(
    crew: Crew, graph: Graph, driver: neo4j.Driver
) -> None:
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


def test_a_signal_ends_an_idle_worker_and_one_that_waits_for_the_database(crew: Crew) -> None:
    idle = crew.hire_and_wait()
    lonely = crew.hire(env={"KG_NEO4J__URI": "bolt://127.0.0.1:1"})
    wait_until(lambda: '"event": "waiting"' in lonely.output(), PATIENCE, lonely.output)
    begun = time.monotonic()
    assert (idle.stop(), lonely.stop()) == (0, 0), idle.output() + lonely.output()
    assert time.monotonic() - begun < 10


def test_a_second_signal_ends_the_worker_at_once_and_nothing_is_lost(
    crew: Crew, graph: Graph, driver: neo4j.Driver
) -> None:
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


def test_a_batch_that_takes_longer_than_the_grace_is_left_to_the_next_worker(
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
