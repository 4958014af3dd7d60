"""Tests that a job ends if it makes no progress, even if its worker is alive (G8)."""

from __future__ import annotations

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import request_job
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import LEASE, PATIENCE, Crew, alive, said, until_done, until_state
from tests.support.running import wait_until
from tests.support.worker_main import TEST_KIND, Stuck

BUDGET, BEAT = 2.0, 0.4
STUCK = {"KG_WORKER__STUCK_SECONDS": str(BUDGET)}
MARGIN = 15.0
EXIT_CODE = 70


def ask(graph: Graph, ontology: str) -> str:
    return graph.transaction(lambda tx: request_job(tx, TEST_KIND, ontology, added=1))


@pytest.mark.parametrize("stuck", ["looping", "hanging"])
def test_job_without_progress_fails_at_its_budget(crew: Crew, graph: Graph, stuck: Stuck) -> None:
    worker = crew.hire_and_wait(env=STUCK, stuck=stuck)
    job_id = ask(graph, "never")
    dead = until_state(graph, job_id, JobState.FAILED)
    assert BUDGET <= lasted(dead) <= BUDGET + BEAT + MARGIN
    assert (dead.error or "").startswith("timeout: ")
    assert dead.attempts == 1
    if stuck == "looping":
        until_done(graph, ask(graph, "fine"))
        assert worker.stop() == 0, "a worker whose job comes back works on"
    else:
        wait_until(lambda: not alive(worker), LEASE + BEAT + MARGIN, worker.output)
        assert worker.process.returncode == EXIT_CODE, "one that hangs makes room for another"
        crew.hire(env=STUCK, stuck=stuck)
        until_done(graph, ask(graph, "fine"), PATIENCE)
    assert said(worker, "job is stuck")


def lasted(job: Job) -> float:
    assert job.started_at is not None
    assert job.finished_at is not None
    return (job.finished_at - job.started_at).total_seconds()
