"""Tests how a job ends if it makes no progress (G8), if texts are rejected (G16), if it fails (G17), and if
you cancel it (G18), and that it resumes exactly (G9, G10)."""

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import find_job, request_job
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import (
    BATCH,
    LEASE,
    PATIENCE,
    Crew,
    alive,
    assert_all_embedded,
    embedded,
    said,
    seed,
    until_done,
    until_progress,
    until_state,
)
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.running import wait_until
from tests.support.worker_main import TEST_KIND, Fault, Place, Stuck

OFTEN = {"KG_WORKER__TICK_SECONDS": "1"}


def test_rejected_text_is_skipped_within_a_batch(
    crew: Crew, graph: Graph, driver: neo4j.Driver, http: httpx.Client
) -> None:
    texts = [f"source {number}" + (" with poison" if number == 37 else "") for number in range(100)]
    job_id = store_document(graph, record("a.md", texts)).job_id or ""
    worker = crew.hire(env=OFTEN, refuses="poison")
    ended = until_state(graph, job_id, JobState.SUCCEEDED_WITH_ERRORS, JobState.SUCCEEDED, JobState.FAILED)
    assert (ended.state, ended.done, ended.total) == (JobState.SUCCEEDED_WITH_ERRORS, 100, 100)
    assert (ended.set_aside, ended.attempts, embedded(driver)) == (1, 1, 99)
    told = http.get("/ontologies/notes/refused").json()
    assert (told["total"], "does not take 'poison'" in str(told)) == (1, True), told
    wait_until(lambda: said(worker, "job succeeded", 3), PATIENCE, worker.output)
    assert len(crew.batches(worker)) < 40, "backfill does not try it again and again"
    assert http.get("/jobs", params={"state": "failed"}).json()["total"] == 0
    assert worker.stop() == 0
    assert http.post(f"/jobs/{job_id}/retry").is_success
    crew.hire()
    done = until_done(graph, job_id)
    assert (done.set_aside, done.error) == (0, None)
    assert_all_embedded(driver, 100)


def test_failed_job_is_retried_with_correct_counts(
    crew: Crew, graph: Graph, driver: neo4j.Driver, http: httpx.Client
) -> None:
    nobody_backfills(driver)
    job_id = seed(graph, 4 * BATCH)
    worker = crew.hire(env={"KG_WORKER__MAX_FAILURES": "1"}, fault="raise", place="embedding", at=3)
    dead = until_state(graph, job_id, JobState.FAILED)
    assert (dead.done, dead.total, "a fault of the test" in (dead.error or "")) == (
        2 * BATCH,
        4 * BATCH,
        True,
    )
    listed = http.get("/jobs", params={"state": "failed"}).json()
    assert [(each["job_id"], each["error"]) for each in listed["jobs"]] == [(job_id, dead.error)]
    assert http.get("/queue").json()["failed"] == 1
    answer = http.post(f"/jobs/{job_id}/retry")
    assert answer.is_success, answer.text
    again = answer.json()
    assert (again["job_id"], again["state"], again["error"]) == (job_id, "queued", None)
    done = until_done(graph, job_id)
    assert (done.done, done.total, done.attempts) == (4 * BATCH, 4 * BATCH, 2)
    assert http.post(f"/jobs/{job_id}/retry").status_code == 409, "what is done is not done again"
    assert worker.stop() == 0
    assert_all_embedded(driver, 4 * BATCH)


def nobody_backfills(driver: neo4j.Driver) -> None:
    rows(
        driver,
        "CREATE (:Job {job_id: 'endless', kind: 'backfill', state: 'running', worker: 'nobody', fence: 1, "
        "lease_until: datetime.realtime() + duration('PT1H'), queued_at: datetime.realtime()})",
    )


def test_a_cancelled_job_that_waits_never_starts(
    crew: Crew, graph: Graph, driver: neo4j.Driver, http: httpx.Client
) -> None:
    job_id = seed(graph, BATCH)
    answer = http.post(f"/jobs/{job_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert http.post(f"/jobs/{job_id}/cancel").json() == answer.json(), "twice is as once"
    worker = crew.hire(env=OFTEN)
    wait_until(lambda: said(worker, "job succeeded", 2), PATIENCE, worker.output)
    assert (find_job(graph, job_id).attempts, crew.batches(), embedded(driver)) == (0, [], 0)
    assert http.post("/ontologies/notes/embeddings").status_code == 202, "until somebody asks again"
    wait_until(lambda: embedded(driver) == BATCH, PATIENCE, worker.output)


def test_cancelled_job_stops_within_a_batch(
    crew: Crew, graph: Graph, driver: neo4j.Driver, http: httpx.Client
) -> None:
    job_id = seed(graph, 16 * BATCH)
    worker = crew.hire(0.3, env=OFTEN)
    until_progress(graph, job_id, 2 * BATCH)
    cancelled = http.post(f"/jobs/{job_id}/cancel").json()
    batches, there = len(crew.batches(worker)), embedded(driver)
    wait_until(lambda: said(worker, "job cancelled"), PATIENCE, worker.output)
    assert len(crew.batches(worker)) <= batches + 1
    assert (cancelled["state"], embedded(driver)) == ("cancelled", there)
    wait_until(lambda: said(worker, "job succeeded", 2), PATIENCE, worker.output)
    after = find_job(graph, job_id)
    assert (after.state, after.done, embedded(driver)) == (JobState.CANCELLED, cancelled["done"], there)
    assert http.post(f"/jobs/{job_id}/retry").is_success
    worker.stop()
    crew.hire()
    done = until_done(graph, job_id)
    assert (done.done, done.total) == (16 * BATCH, 16 * BATCH)
    assert crew.embedded_again() <= BATCH, "what it had was kept"
    assert_all_embedded(driver, 16 * BATCH)


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
