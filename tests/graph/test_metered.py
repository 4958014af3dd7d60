"""Sessions with Neo4j and runs of jobs, as they are counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg_api.errors import DatabaseUnavailable, KgError, ModelUnavailable
from kg_api.graph.client import ConcurrentChange, Graph, Transaction
from kg_api.jobs.runner import JobRun
from tests.graph.test_jobs_running import runner
from tests.support.jobs import request
from tests.support.meters import Counted


def test_a_read_and_a_write_are_timed_and_leave_nothing_open(graph: Graph) -> None:
    counted = Counted()
    graph.read("spaces/all")
    graph.transaction(lambda tx: tx.run("spaces/all"))
    assert counted("kg_neo4j_seconds_count", access="read") == 1
    assert counted("kg_neo4j_seconds_count", access="write") == 1
    assert counted("kg_neo4j_sessions_open") == 0


def test_a_transaction_that_is_done_again_is_a_retry_and_not_neo4js_failure(graph: Graph) -> None:
    counted, tries = Counted(), list[int]()

    def twice(_: Transaction) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ConcurrentChange

    graph.transaction(twice)
    assert counted("kg_neo4j_retries_total", access="write") == 1
    assert counted("kg_neo4j_failures_total", access="write", error="ConcurrentChange") == 0


def test_a_database_that_is_away_is_counted_by_the_drivers_name_of_it() -> None:
    counted = Counted()
    with Graph("bolt://127.0.0.1:9", "neo4j", "x") as away, pytest.raises(DatabaseUnavailable):
        away.read("spaces/all")
    failed = counted("kg_neo4j_failures_total", access="read", error="ServiceUnavailable")
    assert failed == counted("kg_neo4j_retries_total", access="read") + 1 >= 2


def fail(_: JobRun) -> None:
    raise KgError("a bug")


def lack(_: JobRun) -> None:
    raise ModelUnavailable("away")


def finish(run: JobRun) -> None:
    run.finish()


@pytest.mark.parametrize(("work", "outcome"), [(finish, "completed"), (fail, "failed"), (lack, "waits")])
def test_a_run_of_a_job_by_its_outcome(graph: Graph, work: Callable[[JobRun], None], outcome: str) -> None:
    counted = Counted()
    request(graph, "notes")
    assert runner(graph, work).run_one()
    assert counted("kg_job_runs_begun_total", kind="test") == 1
    assert counted("kg_job_runs_total", kind="test", outcome=outcome) == 1
    assert counted("kg_job_run_seconds_count", kind="test") == 1


def test_a_job_that_dies_is_counted_as_dead(graph: Graph) -> None:
    counted = Counted()
    request(graph, "notes")
    runner(graph, fail, max_stumbles=1).run_one()
    assert counted("kg_job_runs_total", kind="test", outcome="dead") == 1
