"""Tests for the loop of the worker using a real database: time slices, pauses, and ends (G8, G18,
G27)."""

import threading
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import neo4j
import pytest
from structlog.testing import capture_logs

from kg_api.errors import KgError, ModelUnavailable, ProviderMissing
from kg_api.graph import jobs
from kg_api.graph.client import ConcurrentChange, Graph, Transaction
from kg_api.jobs import runner as running
from kg_api.jobs.runner import JobRun, Runner
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import WorkerSettings
from tests.support.cypher import rows
from tests.support.jobs import request
from tests.support.meters import Counted

BATCH_SECONDS = 0.02
TURN_SECONDS = 0.1


class Handler:
    kind = "test"

    def __init__(self, work: Callable[[JobRun], None]) -> None:
        self._work = work

    def run(self, run: JobRun) -> None:
        self._work(run)


def runner(graph: Graph, work: Callable[[JobRun], None], **settings: Any) -> Runner:
    given = WorkerSettings.model_validate({"turn_seconds": TURN_SECONDS, **settings})
    return Runner(graph, [Handler(work)], given, worker="w", stopping=threading.Event())


def through(run: JobRun, batches: int) -> None:
    for number in range(int(run.cursor or 0), batches):
        run.checkpoint()
        time.sleep(BATCH_SECONDS)
        run.commit(lambda _: None, after=str(number + 1), done=1)
    run.finish()


def events(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [str(each["event"]) for each in logs]


def test_handler_reads_requests_made_during_its_run(graph: Graph) -> None:
    request(graph, selection="missing")
    seen: list[tuple[str, bool, str]] = []

    def work(run: JobRun) -> None:
        while True:
            seen.append((run.job.selection, run.job.forced_at is not None, run.cursor))
            run.commit(lambda _: None, after="the end", done=0)
            if len(seen) == 1:
                request(graph, selection="stale", force=True)
            if run.finish():
                return

    runner(graph, work).run_one()
    assert seen == [("missing", False, ""), ("due", True, "")]


@pytest.mark.parametrize(
    "change", ["SET j.fence = j.fence + 1", "SET j.state = 'queued'", "SET j.state = 'succeeded'", "DELETE j"]
)
def test_a_lost_job_is_not_called_cancelled(graph: Graph, driver: neo4j.Driver, change: str) -> None:
    request(graph)

    def work(run: JobRun) -> None:
        rows(driver, f"MATCH (j:Job) {change}")
        run.commit(lambda _: None, after="x", done=1)

    with capture_logs() as logs:
        runner(graph, work).run_one()
    assert events(logs)[-1] == "job lost to another worker"


def test_job_of_unset_provider_waits_for_another_worker(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "OTHER_WORKER_SECONDS", 0.0)
    job_id = request(graph, "notes")

    def without_key(_: JobRun) -> None:
        raise ProviderMissing("OPENAI_API_KEY is not set")

    for _ in range(WorkerSettings().max_failures + 1):
        runner(graph, without_key).run_one()
    left = jobs.find_job(graph, job_id)
    assert (left.state, left.error) == (JobState.QUEUED, "waiting: OPENAI_API_KEY is not set")
    runner(graph, lambda run: through(run, 1)).run_one()
    assert jobs.find_job(graph, job_id).state is JobState.SUCCEEDED


def test_reads_and_writes_are_timed_and_closed(graph: Graph) -> None:
    counted = Counted()
    graph.read("spaces/all")
    graph.transaction(lambda tx: tx.run("spaces/all"))
    assert counted("kg_neo4j_seconds_count", access="read") == 1
    assert counted("kg_neo4j_seconds_count", access="write") == 1
    assert counted("kg_neo4j_sessions_open") == 0


def test_repeated_transaction_counts_as_retry_not_failure(graph: Graph) -> None:
    counted, tries = Counted(), list[int]()

    def twice(_: Transaction) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ConcurrentChange

    graph.transaction(twice)
    assert counted("kg_neo4j_retries_total", access="write") == 1
    assert counted("kg_neo4j_failures_total", access="write", error="ConcurrentChange") == 0


def fail(_: JobRun) -> None:
    raise KgError("a bug")


def lack(_: JobRun) -> None:
    raise ModelUnavailable("away")


def finish(run: JobRun) -> None:
    run.finish()


@pytest.mark.parametrize(
    ("work", "settings", "outcome"),
    [
        (finish, {}, "succeeded"),
        (fail, {}, "retried"),
        (fail, {"max_failures": 1}, "failed"),
        (lack, {}, "waits"),
    ],
)
def test_a_run_of_a_job_by_its_outcome(
    graph: Graph, work: Callable[[JobRun], None], settings: dict[str, int], outcome: str
) -> None:
    counted = Counted()
    request(graph, "notes")
    assert runner(graph, work, **settings).run_one()
    assert counted("kg_job_runs_begun_total", kind="test") == 1
    assert counted("kg_job_runs_total", kind="test", outcome=outcome) == 1
    assert counted("kg_job_run_seconds_count", kind="test") == 1
