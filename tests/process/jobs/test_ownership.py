"""Tests that only one worker can own a job, and that another one can take it over if the worker dies (G4
to G7)."""

import signal
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job, request_job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import (
    BATCH,
    LEASE,
    PATIENCE,
    POLL,
    Crew,
    assert_all_embedded,
    said,
    seed,
    tell,
    until_done,
    until_owned,
    until_progress,
)
from tests.support.running import wait_until
from tests.support.worker_main import TEST_KIND

MARGIN = 15.0
"""Number of seconds to add to a limit on a busy machine."""


def many_jobs(graph: Graph, count: int) -> list[str]:
    def request(number: int) -> str:
        return graph.transaction(lambda tx: request_job(tx, TEST_KIND, f"ontology {number}", added=1))

    return [request(number) for number in range(count)]


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.full)])
def test_eight_workers_never_own_a_job_at_once(crew: Crew, graph: Graph, count: int) -> None:
    job_ids = many_jobs(graph, count)
    workers = [crew.hire(intervals=True) for _ in range(8)]
    ready = [crew.folder / f"ready-{worker.process.pid}" for worker in workers]
    wait_until(lambda: all(map(Path.exists, ready)), PATIENCE)
    (crew.folder / "go").touch()
    wait_until(
        lambda: completed(graph) == count, PATIENCE + count / 5, lambda: f"{completed(graph)} of {count}"
    )
    owned = defaultdict[str, list[tuple[int, int]]](list)
    for worker in workers:
        for job_id, claimed, released in crew.notes("intervals", worker.process.pid):
            owned[job_id].append((int(claimed), int(released)))
    overlapping = [
        job_id
        for job_id, intervals in owned.items()
        for (_, released), (claimed, _) in pairwise(sorted(intervals))
        if claimed < released
    ]
    assert overlapping == []
    assert sorted(owned) == sorted(job_ids)
    assert {find_job(graph, job_id).attempts for job_id in job_ids} == {1}
    assert sum(bool([*crew.notes("intervals", worker.process.pid)]) for worker in workers) > 1


TRANSACTION_SECONDS = 120.0  # `db.transaction.timeout` of the managed Neo4j


def completed(graph: Graph) -> int:
    return graph.read("jobs/count", state="succeeded", kind=TEST_KIND, ontologies=None, hidden=[])[0]["total"]


def test_frozen_worker_loses_its_job_and_writes_nothing(
    crew: Crew, graph: Graph, driver: neo4j.Driver
) -> None:
    job_id = seed(graph, 9 * BATCH)
    frozen = crew.hire_and_wait(0.05, fault="freeze", place="embedding", at=3)
    wait_until((crew.folder / f"faults-{frozen.process.pid}").exists, PATIENCE)
    begun, first = time.monotonic(), until_owned(graph, job_id)
    crew.hire(0.5)
    # A worker that freezes within a transaction keeps its locks until Neo4j ends the transaction
    until_owned(graph, job_id, other_than=first.worker, seconds=TRANSACTION_SECONDS + PATIENCE)
    time.sleep(max(0.0, begun + 3 * LEASE - time.monotonic()))
    frozen.signal(signal.SIGCONT)
    wait_until(lambda: said(frozen, "job lost to another worker"), PATIENCE, frozen.output)
    done = until_done(graph, job_id)
    assert (done.done, done.total) == (9 * BATCH, 9 * BATCH)
    assert_all_embedded(driver, 9 * BATCH)
    assert crew.embedded_again() <= BATCH


@pytest.mark.parametrize(
    ("lease", "poll"),
    [
        pytest.param(LEASE, POLL, id="short lease"),
        pytest.param(30.0, 10.0, id="lease of 30 s", marks=pytest.mark.full),
    ],
)
def test_job_of_killed_worker_resumes_within_the_lease(
    crew: Crew, graph: Graph, driver: neo4j.Driver, lease: float, poll: float
) -> None:
    usual = {
        "KG_WORKER__LEASE_SECONDS": str(lease),
        "KG_WORKER__HEARTBEAT_SECONDS": str(lease / 3),
        "KG_WORKER__POLL_SECONDS": str(poll),
    }
    job_id = seed(graph, 20 * BATCH)
    victim = crew.hire_and_wait(1.0, env=usual)
    first = until_owned(graph, job_id)
    crew.hire_and_wait(env=usual)
    until_progress(graph, job_id)
    victim.kill()
    begun = time.monotonic()
    until_owned(graph, job_id, other_than=first.worker)
    recovery = time.monotonic() - begun
    tell(f"recovered after {recovery:.2f} s with a lease of {lease} s")
    assert recovery <= lease + poll + MARGIN
    until_done(graph, job_id)
    assert_all_embedded(driver, 20 * BATCH)


def test_a_slow_worker_that_lives_keeps_its_job(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    job_id = seed(graph, BATCH)
    slow = crew.hire_and_wait(3 * LEASE)
    until_owned(graph, job_id)
    idle = crew.hire_and_wait()
    done = until_done(graph, job_id)
    assert (done.attempts, done.state) == (1, JobState.SUCCEEDED)
    assert (len(crew.batches(slow)), crew.batches(idle)) == (1, [])
    assert_all_embedded(driver, BATCH)
