"""Tests for small jobs that have to run next to a large one (G27), unknown kinds (G28), and old jobs
(G29)."""

from dataclasses import dataclass

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job, request_job
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import (
    BATCH,
    PATIENCE,
    Crew,
    assert_all_embedded,
    said,
    seed,
    tell,
    until_done,
    until_progress,
)
from tests.support.cypher import rows
from tests.support.running import wait_until

TURN = 1.0
SMALL_JOBS = 10


@dataclass(frozen=True)
class Size:
    batches: int
    longest_wait: float
    """Number of seconds to wait for the last small job. If jobs were run in order, you would have to wait
    for all batches."""


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(Size(20, 20.0), id="large"),  # beside other tests; that the huge job goes on tells most
        pytest.param(Size(60, 10.0), id="huge", marks=pytest.mark.full),
        pytest.param(Size(600, 20.0), id="very huge", marks=[pytest.mark.full, pytest.mark.timeout(600)]),
    ],
)
def test_huge_job_does_not_delay_small_jobs(
    crew: Crew, graph: Graph, driver: neo4j.Driver, size: Size
) -> None:
    huge = seed(graph, size.batches * BATCH, "huge")
    crew.hire(0.2, env={"KG_WORKER__TURN_SECONDS": str(TURN), "KG_WORKER__TICK_SECONDS": "3600"})
    until_progress(graph, huge)
    small = [seed(graph, 1, f"small {number}") for number in range(SMALL_JOBS)]
    waits = sorted(waited(until_done(graph, job_id)) for job_id in small)
    meanwhile = find_job(graph, huge)
    assert meanwhile.state is not JobState.SUCCEEDED, "it was not huge enough to say anything"
    tell(f"small jobs waited {waits[5]:.1f} s in the middle, {waits[-1]:.1f} s at most")
    assert waits[-2] <= size.longest_wait, "the 95th percentile"
    done = until_done(graph, huge, size.batches * 0.5 + PATIENCE)
    assert (done.done, done.total, done.error) == (size.batches * BATCH, size.batches * BATCH, None)
    assert crew.embedded_again() == 0
    assert_all_embedded(driver, size.batches * BATCH + SMALL_JOBS)


def waited(job: Job) -> float:
    assert job.finished_at is not None
    return (job.finished_at - job.created_at).total_seconds()


def test_worker_skips_unknown_kinds_and_prunes_jobs(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    """An old worker is used with a newer service. It should only report an unknown kind once."""
    unknown = graph.transaction(lambda tx: request_job(tx, "from_the_future", "notes", added=1))
    old, young = ended(graph, driver, 8), ended(graph, driver, 6)
    worker = crew.hire(env={"KG_WORKER__TICK_SECONDS": "1"})
    wait_until(lambda: gone(driver, old), PATIENCE, worker.output)
    signs = "MATCH (w:Worker) RETURN max(w.seen_at) > min(w.started_at) + duration('PT3S') AS often"
    wait_until(lambda: rows(driver, signs) == [{"often": True}], PATIENCE, worker.output)
    left = find_job(graph, unknown)
    assert (left.state, left.attempts, left.worker) == (JobState.QUEUED, 0, None)
    assert worker.output().count("unknown kind of job") == 1
    assert not gone(driver, young)
    held = "MATCH (j:Job) WHERE NOT j.state IN ['queued', 'running'] AND j.unique_key IS NOT NULL RETURN j"
    assert rows(driver, held) == [], "what has ended holds no key"
    assert seed(graph, 1, "ontology of 6") != young, "so that its work can be asked for again"
    assert worker.stop() == 0
    assert not said(worker, "job failed")


def ended(graph: Graph, driver: neo4j.Driver, days: int) -> str:
    name = f"ontology of {days}"
    job_id = graph.transaction(lambda tx: request_job(tx, "source_embedding", name, added=1))
    rows(
        driver,
        "MATCH (j:Job {job_id: $id}) SET j.state = 'succeeded', j.unique_key = null, "
        "j.finished_at = datetime.realtime() - duration({days: $days})",
        id=job_id,
        days=days,
    )
    return job_id


def gone(driver: neo4j.Driver, job_id: str) -> bool:
    return not rows(driver, "MATCH (j:Job {job_id: $id}) RETURN j", id=job_id)
