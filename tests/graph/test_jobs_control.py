"""What a person does with jobs: cancelling, trying again; and what is forgotten (G17, G18, G29)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest

from kg_api.errors import Conflict, LeaseLost, NotFound
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.support.cypher import rows
from tests.support.jobs import advance, claim, finish, owned, request

EMBEDDING = "source_embedding"


def dead(graph: Graph) -> str:
    """A job that has died at its second batch."""
    request(graph, added=4)
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "a", done=2, set_aside=1)
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=True) == "dead"
    return job.job_id


def is_paused(driver: neo4j.Driver) -> bool:
    return bool(rows(driver, "MATCH (o:Ontology {name: 'notes'}) WHERE o.paused RETURN o.name"))


def test_a_queued_job_that_is_cancelled_never_starts(graph: Graph) -> None:
    job_id = request(graph)
    told = jobs.cancel_job(graph, job_id)
    assert (told.state, told.error) == (JobState.CANCELLED, "cancelled on request")
    assert told.finished_at is not None
    assert claim(graph, "w") is None
    assert request(graph) != job_id, "its key is free again"


def test_a_running_job_that_is_cancelled_writes_nothing_more(graph: Graph) -> None:
    job_id = request(graph, added=3)
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "a")
    jobs.cancel_job(graph, job_id)
    with pytest.raises(LeaseLost):
        advance(graph, owner, "a", "b")
    with pytest.raises(LeaseLost):
        jobs.heartbeat(graph, owner)
    with pytest.raises(LeaseLost):
        jobs.finish(graph, owner, wanted=job.wanted)
    told = jobs.find_job(graph, job_id)
    assert (told.state, told.done, told.worker) == (JobState.CANCELLED, 1, None)


def test_cancel_beats_retry(graph: Graph) -> None:
    """Neither a worker that gives it back nor one that fails brings a cancelled job back."""
    job_id = request(graph)
    _, owner = owned(graph, "w")
    jobs.cancel_job(graph, job_id)
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=False) == "lost"
    jobs.give_back(graph, owner, error="waiting", delay_seconds=0)
    jobs.give_back(graph, owner, keeps_place=True)
    jobs.give_back(graph, owner)
    assert jobs.find_job(graph, job_id).state is JobState.CANCELLED
    assert claim(graph, "w") is None


def test_a_job_that_waits_for_its_next_try_can_be_cancelled(graph: Graph) -> None:
    job_id = request(graph)
    _, owner = owned(graph, "w")
    jobs.fail(graph, owner, "E: x", delay_seconds=0.1, max_failures=5, permanent=False)
    jobs.cancel_job(graph, job_id)
    time.sleep(0.2)
    assert claim(graph, "w") is None


def test_cancelling_twice_is_one_cancelling(graph: Graph) -> None:
    job_id = request(graph)
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: jobs.cancel_job(graph, job_id), range(8)))
    assert len({each.finished_at for each in told}) == 1


def test_what_has_ended_otherwise_cannot_be_cancelled(graph: Graph) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    finish(graph, job, owner)
    with pytest.raises(Conflict, match="completed"):
        jobs.cancel_job(graph, job_id)
    with pytest.raises(NotFound, match="kg jobs list"):
        jobs.cancel_job(graph, "no-such-job")


def test_cancelling_pauses_the_ontology_until_somebody_asks_again(graph: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "CREATE (:Ontology {name: 'notes'})")
    job_id = request(graph, kind=EMBEDDING)
    assert not is_paused(driver)
    jobs.cancel_job(graph, job_id)
    assert is_paused(driver)
    jobs.ensure_job(graph, EMBEDDING, "notes", total=1)
    assert is_paused(driver), "the backfill asks for nobody"
    request(graph, kind=EMBEDDING)
    assert not is_paused(driver)


def test_trying_a_cancelled_job_again_ends_the_pause(graph: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "CREATE (:Ontology {name: 'notes'})")
    job_id = request(graph, kind=EMBEDDING)
    jobs.cancel_job(graph, job_id)
    jobs.retry_job(graph, job_id)
    assert not is_paused(driver)


def test_cancelling_another_kind_pauses_nothing(graph: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "CREATE (:Ontology {name: 'notes'})")
    jobs.cancel_job(graph, request(graph))
    assert not is_paused(driver)


def test_a_dead_job_is_done_after_a_retry_and_its_numbers_are_right(
    graph: Graph, driver: neo4j.Driver
) -> None:
    job_id = dead(graph)
    told = jobs.retry_job(graph, job_id)
    assert (told.state, told.error, told.set_aside, told.finished_at) == (JobState.QUEUED, None, 0, None)
    assert (told.done, told.total, told.attempts) == (1, 4, 1), "what was set aside is to be done again"
    assert rows(driver, "MATCH (j:Job) RETURN j.stumbles AS n, j.cursor AS c") == [{"n": 0, "c": ""}]
    assert request(graph) == job_id, "its key is its own again"
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "z", done=3)
    finish(graph, job, owner)
    told = jobs.find_job(graph, job_id)
    assert (told.state, told.done, told.total, told.attempts) == (JobState.COMPLETED, 4, 4, 2)


def test_the_old_worker_of_a_cancelled_job_does_not_write_into_its_retry(graph: Graph) -> None:
    job_id = request(graph)
    _, old = owned(graph, "old")
    jobs.cancel_job(graph, job_id)
    jobs.retry_job(graph, job_id)
    with pytest.raises(LeaseLost):
        advance(graph, old, "", "a")
    _, new = owned(graph, "new")
    with pytest.raises(LeaseLost):
        advance(graph, old, "", "a")
    advance(graph, new, "", "a")


def test_a_job_completed_with_errors_can_be_tried_again(graph: Graph) -> None:
    job_id = request(graph, added=2)
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "a", done=2, set_aside=1)
    finish(graph, job, owner)
    told = jobs.find_job(graph, job_id)
    assert (told.state, told.set_aside) == (JobState.COMPLETED_WITH_ERRORS, 1)
    assert jobs.retry_job(graph, job_id).state is JobState.QUEUED


def test_a_job_whose_work_another_does_is_not_tried_again(graph: Graph) -> None:
    job_id = dead(graph)
    other = request(graph)
    with pytest.raises(Conflict, match=other):
        jobs.retry_job(graph, job_id)
    assert jobs.find_job(graph, job_id).state is JobState.DEAD


def test_a_retry_and_a_request_at_one_moment_leave_one_unfinished_job(graph: Graph) -> None:
    for _ in range(6):
        job_id = dead(graph)

        def ask(number: int, job_id: str = job_id) -> str | None:
            try:
                return jobs.retry_job(graph, job_id).job_id if number % 2 else request(graph)
            except Conflict:
                return None

        with ThreadPoolExecutor(8) as pool:
            asked = set(pool.map(ask, range(8))) - {None}
        assert len(asked) == 1
        jobs.cancel_job(graph, asked.pop() or "")


def test_a_job_that_waits_is_tried_now(graph: Graph) -> None:
    job_id = request(graph)
    _, owner = owned(graph, "w")
    jobs.fail(graph, owner, "E: x", delay_seconds=3600, max_failures=5, permanent=False)
    assert claim(graph, "w") is None
    jobs.retry_job(graph, job_id)
    job, _ = owned(graph, "w")
    assert (job.job_id, job.failures) == (job_id, 1)


def test_a_job_that_is_ready_stays_where_it_is_in_the_queue(graph: Graph) -> None:
    first, _ = request(graph, "first"), request(graph, "second")
    jobs.retry_job(graph, first)
    assert owned(graph, "w")[0].job_id == first


def test_running_and_completed_jobs_are_not_tried_again(graph: Graph) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    with pytest.raises(Conflict, match="cancel it first"):
        jobs.retry_job(graph, job_id)
    finish(graph, job, owner)
    with pytest.raises(Conflict, match="ask for new work"):
        jobs.retry_job(graph, job_id)
    with pytest.raises(NotFound):
        jobs.retry_job(graph, "no-such-job")


def aged(graph: Graph, driver: neo4j.Driver, ending: str) -> str:
    """A job that ended so eight days ago."""
    job_id = request(graph, ending)
    job, owner = owned(graph, "w")
    if ending == "cancelled":
        jobs.cancel_job(graph, job_id)
    elif ending == "dead":
        jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=True)
    else:
        advance(graph, owner, "", "a", set_aside=int(ending == "completed_with_errors"))
        finish(graph, job, owner)
    assert jobs.find_job(graph, job_id).state == ending
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('P8D')")
    return job_id


@pytest.mark.parametrize("ending", ["completed", "completed_with_errors", "cancelled", "dead"])
def test_finished_jobs_are_forgotten_after_a_while(graph: Graph, driver: neo4j.Driver, ending: str) -> None:
    old = aged(graph, driver, ending)
    kept = request(graph, "other")
    assert jobs.prune(graph, days=9) == 0
    assert jobs.prune(graph, days=7) == 1
    with pytest.raises(NotFound, match=old):
        jobs.find_job(graph, old)
    assert jobs.find_job(graph, kept).state is JobState.QUEUED


def test_unfinished_jobs_are_kept_however_old(graph: Graph, driver: neo4j.Driver) -> None:
    request(graph, "running")
    owned(graph, "w")
    request(graph, "queued")
    rows(driver, "MATCH (j:Job) SET j.created_at = datetime.realtime() - duration('P900D')")
    assert jobs.prune(graph, days=7) == 0


def test_scheduled_jobs_are_kept_for_an_hour(graph: Graph, driver: neo4j.Driver) -> None:
    jobs.enqueue_slot(graph, "backfill")
    job, owner = owned(graph, "w", kind="backfill")
    finish(graph, job, owner)
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('PT50M')")
    assert jobs.prune(graph, days=7) == 0
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('PT20M')")
    assert jobs.prune(graph, days=7) == 1


@pytest.mark.parametrize("ending", ["completed", "cancelled", "dead"])
def test_only_unfinished_jobs_hold_their_key(graph: Graph, driver: neo4j.Driver, ending: str) -> None:
    aged(graph, driver, ending)
    assert rows(driver, "MATCH (j:Job) WHERE j.unique_key IS NOT NULL RETURN j.job_id") == []


def test_a_job_says_when_its_worker_is_silent(graph: Graph) -> None:
    job_id = request(graph)
    owned(graph, "w", lease=0.2)

    def stalled() -> Job:
        return jobs.find_job(graph, job_id)

    assert not stalled().stalled
    time.sleep(0.3)
    assert stalled().stalled
