"""Jobs in the database: claimed once, fenced, resumed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest

from kg_api.errors import LeaseLost
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.schemas.vocabulary import JobState
from tests.support.jobs import LEASE, advance, claim, owned, request


def test_asking_for_the_same_work_joins_one_job(graph: Graph) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: request(graph), range(20)))
    assert len(ids) == 1
    assert jobs.find_job(graph, ids.pop()).total == 20


def test_a_job_is_claimed_by_one_of_many(graph: Graph) -> None:
    for number in range(40):
        request(graph, f"ontology {number}")
    with ThreadPoolExecutor(8) as pool:
        claimed = [job for job in pool.map(lambda n: claim(graph, f"w{n}"), range(80)) if job]
    assert len(claimed) == len({job.job_id for job in claimed}) == 40


def test_an_unknown_kind_is_left_alone(graph: Graph) -> None:
    request(graph)
    assert jobs.claim(graph, "w", ["other"], lease_seconds=LEASE, max_failures=5) is None


def test_a_lease_that_ran_out_lets_another_take_over_and_fences_the_first(graph: Graph) -> None:
    request(graph)
    _, first = owned(graph, "first", lease=0.3)
    assert claim(graph, "second") is None
    time.sleep(0.4)
    job, second = owned(graph, "second")
    assert job.failures == 1
    with pytest.raises(LeaseLost):
        advance(graph, first, "", "x")
    with pytest.raises(LeaseLost):
        jobs.heartbeat(graph, first)
    with pytest.raises(LeaseLost):
        jobs.finish(graph, first, wanted=1)
    jobs.give_back(graph, first, keeps_place=True)
    advance(graph, second, "", "x")
    assert jobs.find_job(graph, job.job_id).state is JobState.RUNNING


def test_a_heartbeat_keeps_the_lease(graph: Graph) -> None:
    request(graph)
    _, owner = owned(graph, "first", lease=0.5)
    for _ in range(4):
        time.sleep(0.25)
        jobs.heartbeat(graph, owner)
        assert claim(graph, "second") is None


def test_a_fenced_batch_leaves_nothing_behind(graph: Graph, driver: neo4j.Driver) -> None:
    request(graph)
    _, first = owned(graph, "first", lease=0.05)
    time.sleep(0.1)
    owned(graph, "second")

    def batch(tx: Transaction) -> None:
        tx.run("spaces/register", slug="evidence", identity={}, property="p", index_name="i")
        jobs.advance(tx, first, before="", after="x", done=1)

    with pytest.raises(LeaseLost):
        graph.transaction(batch)
    with driver.session() as session:
        assert not session.run("MATCH (e:EmbeddingSpace {slug: 'evidence'}) RETURN e").data()


def test_a_repeated_commit_is_counted_once(graph: Graph) -> None:
    job_id = request(graph, added=4)
    _, owner = owned(graph, "w")
    advance(graph, owner, "", "a", done=2)
    advance(graph, owner, "", "a", done=2)
    assert jobs.find_job(graph, job_id).done == 2
    with pytest.raises(LeaseLost):
        advance(graph, owner, "", "b", done=2)


def test_the_cursor_outlives_its_worker(graph: Graph) -> None:
    request(graph)
    _, owner = owned(graph, "w", lease=0.2)
    advance(graph, owner, "", "place")
    time.sleep(0.3)
    job, _ = owned(graph, "other")
    assert job.cursor == "place"


def test_work_asked_for_meanwhile_starts_another_round(graph: Graph) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    assert request(graph) == job_id
    asked = jobs.finish(graph, owner, wanted=job.wanted)
    assert asked is not None
    assert asked.wanted == 2
    assert jobs.finish(graph, owner, wanted=asked.wanted) is None
    assert jobs.finish(graph, owner, wanted=asked.wanted) is None, "a repeated end is an end"
    assert jobs.find_job(graph, job_id).state is JobState.COMPLETED
    assert request(graph) != job_id, "a finished job gives its key back"


def test_a_worker_takes_up_its_own_job_again_without_a_failure(graph: Graph) -> None:
    request(graph)
    owned(graph, "w")
    job, _ = owned(graph, "w")
    assert (job.failures, job.fence) == (0, 2)


def test_a_released_job_can_be_had_at_once(graph: Graph) -> None:
    request(graph)
    _, owner = owned(graph, "w")
    jobs.give_back(graph, owner, keeps_place=True)
    job, _ = owned(graph, "other")
    assert job.failures == 0


def test_failures_wait_and_end_in_death(graph: Graph) -> None:
    job_id = request(graph)
    for _ in range(2):
        _, owner = owned(graph, "w")
        state = jobs.fail(graph, owner, "E: x", delay_seconds=1, max_failures=3, permanent=False)
        assert state == "queued"
        assert claim(graph, "w") is None
        time.sleep(1.05)
    _, owner = owned(graph, "w")
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=3, permanent=False) == "dead"
    dead = jobs.find_job(graph, job_id)
    assert (dead.state, dead.error) == (JobState.DEAD, "E: x")
    assert request(graph) != job_id, "a dead job does not stand in the way of new work"


def test_progress_clears_the_record_of_failures(graph: Graph) -> None:
    request(graph)
    _, owner = owned(graph, "w")
    jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=3, permanent=False)
    job, owner = owned(graph, "w")
    assert job.failures == 1
    advance(graph, owner, "", "a")
    jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=3, permanent=False)
    job, _ = owned(graph, "w")
    assert job.failures == 1


def test_a_job_whose_workers_keep_dying_is_dead_in_the_end(graph: Graph) -> None:
    job_id = request(graph)
    for number in range(3):
        assert claim(graph, f"w{number}", lease=0.05, max_failures=3)
        time.sleep(0.1)
    last = claim(graph, "w9", max_failures=3)
    assert last is not None
    assert last.state == "dead"
    assert "was lost" in (jobs.find_job(graph, job_id).error or "")


def test_one_job_a_slot(graph: Graph) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: jobs.enqueue_slot(graph, "backfill", "17"), range(24)))
    assert ids == {"backfill-17"}
    shown, total = jobs.page_of_jobs(graph, state=None, kind=None, ontology=None, offset=0, limit=10)
    assert (shown, total) == ([], 0), "scheduled jobs are shown only when asked for"
    _, total = jobs.page_of_jobs(graph, state=None, kind="backfill", ontology=None, offset=0, limit=10)
    assert total == 1


def test_finished_jobs_are_forgotten_after_a_while(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    jobs.finish(graph, owner, wanted=job.wanted)
    assert jobs.prune(graph, days=7) == 0
    with driver.session() as session:
        session.run("MATCH (j:Job) SET j.finished_at = datetime.realtime() - duration('P8D')").consume()
    assert jobs.prune(graph, days=7) == 1
    with pytest.raises(Exception, match=job_id):
        jobs.find_job(graph, job_id)


def test_work_asked_for_while_the_job_ends_gets_a_job_of_its_own(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    with driver.session() as session, ThreadPoolExecutor(1) as pool:
        ending = session.begin_transaction()
        ending.run("MATCH (j:Job {job_id: $id}) SET j.locked_by = 'w'", id=job_id).consume()
        asking = pool.submit(request, graph)
        time.sleep(0.5)
        ending.run(
            "MATCH (j:Job {job_id: $id}) SET j.state = 'completed', j.unique_key = null", id=job_id
        ).consume()
        ending.commit()
        assert asking.result() != job_id
    assert owner.fence == job.fence


def test_scheduled_jobs_do_not_pile_up(graph: Graph) -> None:
    for slot in range(5):
        jobs.enqueue_slot(graph, "backfill", str(slot))
    _, total = jobs.page_of_jobs(graph, state=None, kind="backfill", ontology=None, offset=0, limit=10)
    assert total == 1
