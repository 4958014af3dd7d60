from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import LiteralString

import neo4j
import pytest

from kg_api.errors import Conflict, LeaseLost, NotFound, TooBusy
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.jobs import can_accept_request, request_job
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.support.cypher import rows
from tests.support.jobs import LEASE, advance, claim, finish, owned, request


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


def test_one_job_a_slot(graph: Graph) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: jobs.enqueue_slot(graph, "backfill", "17"), range(24)))
    assert ids == {"backfill-17"}
    shown, total = jobs.page_of_jobs(graph, state=None, kind=None, ontology=None, offset=0, limit=10)
    assert (shown, total) == ([], 0), "scheduled jobs are shown only when asked for"
    _, total = jobs.page_of_jobs(graph, state=None, kind="backfill", ontology=None, offset=0, limit=10)
    assert total == 1


def test_work_requested_at_job_end_creates_a_job(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = request(graph)
    job, owner = owned(graph, "w")
    with driver.session() as session, ThreadPoolExecutor(1) as pool:
        ending = session.begin_transaction()
        ending.run("MATCH (j:Job {job_id: $id}) SET j.locked_by = 'w'", id=job_id).consume()
        asking = pool.submit(request, graph)
        time.sleep(0.5)
        ending.run(
            "MATCH (j:Job {job_id: $id}) SET j.state = 'succeeded', j.unique_key = null", id=job_id
        ).consume()
        ending.commit()
        assert asking.result() != job_id
    assert owner.fence == job.fence


def test_scheduled_jobs_do_not_pile_up(graph: Graph) -> None:
    for slot in range(5):
        jobs.enqueue_slot(graph, "backfill", str(slot))
    _, total = jobs.page_of_jobs(graph, state=None, kind="backfill", ontology=None, offset=0, limit=10)
    assert total == 1


EMBEDDING = "source_embedding"


def dead(graph: Graph) -> str:
    request(graph, added=4)
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "a", done=2, set_aside=1)
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=True) == "failed"
    return job.job_id


def is_paused(driver: neo4j.Driver) -> bool:
    return bool(rows(driver, "MATCH (o:Ontology {name: 'notes'}) WHERE o.paused RETURN o.name"))


def test_cancelling_twice_is_one_cancelling(graph: Graph) -> None:
    job_id = request(graph)
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: jobs.cancel_job(graph, job_id), range(8)))
    assert len({each.finished_at for each in told}) == 1


def test_cancellation_pauses_the_ontology_until_a_request(graph: Graph, driver: neo4j.Driver) -> None:
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


def test_concurrent_retry_and_request_leave_one_unfinished_job(graph: Graph) -> None:
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
    job_id = request(graph, ending)
    job, owner = owned(graph, "w")
    if ending == "cancelled":
        jobs.cancel_job(graph, job_id)
    elif ending == "failed":
        jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=True)
    else:
        advance(graph, owner, "", "a", set_aside=int(ending == "succeeded_with_errors"))
        finish(graph, job, owner)
    assert jobs.find_job(graph, job_id).state == ending
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('P8D')")
    return job_id


@pytest.mark.parametrize("ending", ["succeeded", "succeeded_with_errors", "cancelled", "failed"])
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


def test_a_job_says_when_its_worker_is_silent(graph: Graph) -> None:
    job_id = request(graph)
    owned(graph, "w", lease=0.2)

    def stalled() -> Job:
        return jobs.find_job(graph, job_id)

    assert not stalled().stalled
    time.sleep(0.3)
    assert stalled().stalled


PARTS = (":4", "4:8", "8:")


def divided(graph: Graph, total: int = 9) -> tuple[str, jobs.Owner]:
    job_id = request(graph, added=total, selection="missing", force=True)
    _, owner = owned(graph, "whole")
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    return job_id, owner


def pausing(graph: Graph) -> str:
    job_id, owner = divided(graph)
    jobs.give_back(graph, owner, delay_seconds=3600)
    return job_id


def test_parts_inherit_the_selection_of_their_whole(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = pausing(graph)
    claimed = [owned(graph, f"w{number}")[0] for number in range(3)]
    assert [each.part for each in sorted(claimed, key=lambda each: each.part)] == [*sorted(PARTS)]
    assert {(each.parent_id, each.selection, each.ontology) for each in claimed} == {
        (job_id, "missing", "notes")
    }
    forced_at = rows(driver, "MATCH (j:Job {job_id: $id}) RETURN j.forced_at AS at", id=job_id)[0]["at"]
    assert {each.forced_at for each in claimed} == {forced_at}
    assert forced_at is not None


def test_ontology_named_like_a_part_has_own_job(graph: Graph) -> None:
    job_id = pausing(graph)
    names = ["notes:4:8", f"{job_id}:4:8"]
    assert len({request(graph, name) for name in names} & {row.job_id for row in parts(graph, job_id)}) == 0


def parts(graph: Graph, job_id: str) -> list[Job]:
    query: LiteralString = "MATCH (j:Job {parent_id: $id}) RETURN j.job_id AS id"
    found = graph.transaction(lambda tx: tx._transaction.run(query, id=job_id).data())
    return [jobs.find_job(graph, row["id"]) for row in found]


def test_many_parts_count_rightly_at_once(graph: Graph) -> None:
    job_id = pausing(graph)
    owners = [owned(graph, f"w{number}")[1] for number in range(3)]

    def work(owner: jobs.Owner) -> None:
        for number in range(10):
            advance(graph, owner, str(number - 1) if number else "", str(number), done=3)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, owners))
    whole = jobs.find_job(graph, job_id)
    assert (whole.done, whole.total) == (90, 90), "never more done than there is"


def test_job_lists_omit_parts(graph: Graph) -> None:
    job_id = pausing(graph)
    page, total = jobs.page_of_jobs(graph, state=None, kind="test", ontology=None, offset=0, limit=9)
    assert ([each.job_id for each in page], total, page[0].parts) == ([job_id], 1, 3)
    assert jobs.read_embedding_progress(graph) == {}


def end_by_cancelling(graph: Graph, job_id: str) -> None:
    jobs.cancel_job(graph, job_id)


def end_by_failing(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    owner = whole_again(graph, job_id)
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=True) == "failed"


def end_by_being_stuck(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    assert not jobs.heartbeat(graph, whole_again(graph, job_id), stuck_seconds=0)


def end_by_finishing(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    assert jobs.finish(graph, whole_again(graph, job_id), wanted=1) is None


def whole_again(graph: Graph, job_id: str) -> jobs.Owner:
    others = [job for number in range(2) if (job := claim(graph, f"other {number}"))]
    job, owner = owned(graph, "whole")
    assert job.job_id == job_id
    assert len(others) == 2
    return owner


@pytest.mark.parametrize("end", [end_by_cancelling, end_by_failing, end_by_being_stuck, end_by_finishing])
def test_when_the_whole_ends_its_parts_do(graph: Graph, end: object) -> None:
    job_id = pausing(graph)
    _, owner = owned(graph, "w")
    advance(graph, owner, "", "a")
    assert callable(end)
    end(graph, job_id)
    assert jobs.unfinished_parts(graph, job_id) == []
    assert {each.state for each in parts(graph, job_id)} == {JobState.CANCELLED}
    with pytest.raises(LeaseLost):
        advance(graph, owner, "a", "b")
    assert jobs.find_job(graph, job_id).done == 1
    assert claim(graph, "w") is None


def test_part_of_a_deleted_whole_writes_nothing(graph: Graph, driver: neo4j.Driver) -> None:
    """The part itself has not been cancelled."""
    job_id = pausing(graph)
    _, owner = owned(graph, "w")
    rows(driver, "MATCH (j:Job {job_id: $id}) SET j.state = 'failed'", id=job_id)
    with pytest.raises(LeaseLost):
        advance(graph, owner, "", "a")
    rows(driver, "MATCH (j:Job {job_id: $id}) DELETE j", id=job_id)
    with pytest.raises(LeaseLost):
        advance(graph, owner, "", "a")


def test_part_can_be_cancelled_but_not_retried_directly(graph: Graph) -> None:
    job_id = pausing(graph)
    job, _ = owned(graph, "w")
    jobs.cancel_job(graph, job.job_id)
    assert len(jobs.unfinished_parts(graph, job_id)) == 2
    assert jobs.find_job(graph, job_id).state is JobState.QUEUED
    jobs.retry_job(graph, job.job_id)
    assert len(jobs.unfinished_parts(graph, job_id)) == 3
    jobs.cancel_job(graph, job_id)
    with pytest.raises(Conflict, match="retry that one"):
        jobs.retry_job(graph, job.job_id)


def test_dead_parts_do_not_make_the_work_rest(graph: Graph) -> None:
    pausing(graph)
    _, owner = owned(graph, "w")
    jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=True)
    assert not jobs.must_wait_to_restart(graph, "test", "notes", at_most=600)


def test_only_claimable_jobs_end_a_time_slice(graph: Graph) -> None:
    request(graph)
    job, _ = owned(graph, "w")
    assert not jobs.should_yield(graph, job, ["test"]), "nobody waits"
    graph.transaction(lambda tx: jobs.request_job(tx, "strange", "other", added=1))
    assert not jobs.should_yield(graph, job, ["test"]), "nobody here can do that one"
    request(graph, "later")
    _, later = owned(graph, "other")
    jobs.give_back(graph, later, delay_seconds=3600)
    assert not jobs.should_yield(graph, job, ["test"]), "it is not its time"
    request(graph, "ready")
    assert jobs.should_yield(graph, job, ["test"])


def test_parts_of_one_job_do_not_yield_mutually(graph: Graph) -> None:
    request(graph)
    whole, owner = owned(graph, "w")
    jobs.add_parts(graph, owner, "test", "notes", ["a:b", "b:c"])
    assert not jobs.should_yield(graph, whole, ["test"])


def test_many_workers_claim_each_job_once(graph: Graph) -> None:
    """If a worker is too late to claim a job, it should try another one immediately."""
    for number in range(8):
        jobs.sign_of_life(graph, f"w{number}", host="h", pid=number)
    for number in range(64):
        request(graph, f"ontology {number}")

    def work(number: int) -> list[str]:
        return [job.job_id for _ in range(8) if (job := claim(graph, f"w{number}-{_}"))]

    with ThreadPoolExecutor(8) as pool:
        claimed = [job_id for mine in pool.map(work, range(8)) for job_id in mine]
    assert len(claimed) == len(set(claimed)) == 64


def test_no_more_jobs_than_may_wait(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "most_queued", 3)
    ids = [request(graph, f"o{number}") for number in range(3)]
    with pytest.raises(TooBusy, match="3 jobs are waiting already"):
        request(graph, "one too many")
    with pytest.raises(TooBusy):
        jobs.ensure_job(graph, "test", "one too many", total=1)
    assert request(graph, "o1") == ids[1], "work that joins a job is always taken"
    assert jobs.ensure_job(graph, "test", "o2", total=1) == (ids[2], False)
    owned(graph, "w")
    request(graph, "now there is room")
    _, total = jobs.page_of_jobs(graph, state=None, kind=None, ontology=None, offset=0, limit=9)
    assert total == 4, "what was refused left nothing behind"


def test_concurrent_requests_do_not_reject_a_document(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(tx: Transaction, *, limited: bool) -> str:
        return request_job(tx, "test", "concepts of the text", added=1, limited=limited)

    monkeypatch.setattr(graph, "most_queued", 1)
    assert graph.transaction(lambda tx: can_accept_request(tx, "test", "concepts of the text"))
    request(graph, "of others")
    with pytest.raises(TooBusy):
        graph.transaction(partial(ask, limited=True))
    job_id = graph.transaction(partial(ask, limited=False))
    assert jobs.find_job(graph, job_id).total == 1


def test_an_ensured_job_can_be_forced(graph: Graph) -> None:
    job_id, _ = jobs.ensure_job(graph, "test", "notes", total=1, selection="stale", force=True)
    told = jobs.find_job(graph, job_id)
    assert (told.selection, told.forced) == ("stale", True)
    assert owned(graph, "w")[0].forced_at is not None


def test_the_slot_is_of_the_databases_time(graph: Graph, driver: neo4j.Driver) -> None:
    before = rows(driver, "RETURN datetime.realtime().epochMillis AS t")[0]["t"] // 60_000
    slot = int(jobs.enqueue_slot(graph, "backfill", every_seconds=60).removeprefix("backfill-"))
    assert before <= slot <= before + 1
    finer = int(jobs.enqueue_slot(graph, "other", every_seconds=0.5).removeprefix("other-"))
    assert finer // 120 in {slot, slot + 1}


def test_unknown_job_kinds_are_counted(graph: Graph) -> None:
    for number in range(3):
        request(graph, f"o{number}")
    assert jobs.count_unknown_kinds(graph, ["test"]) == {}
    assert jobs.count_unknown_kinds(graph, ["other"]) == {"test": 3}


def test_workers_are_known_while_they_live(graph: Graph, driver: neo4j.Driver) -> None:
    for name in ("a", "b", "a"):
        jobs.sign_of_life(graph, name, host="h", pid=7)
    seen = rows(driver, "MATCH (w:Worker) RETURN w.name AS name, w.seen_at >= w.started_at AS fine")
    assert sorted(row["name"] for row in seen) == ["a", "b"]
    assert all(row["fine"] for row in seen)
    jobs.forget_worker(graph, "a")
    jobs.forget_worker(graph, "a")
    assert rows(driver, "MATCH (w:Worker) RETURN w.name AS name") == [{"name": "b"}]


def test_a_lost_worker_is_forgotten_after_an_hour(graph: Graph, driver: neo4j.Driver) -> None:
    for name, minutes in (("old", 61), ("new", 59)):
        jobs.sign_of_life(graph, name, host="h", pid=7)
        rows(
            driver,
            "MATCH (w:Worker {name: $name}) SET w.seen_at = w.seen_at - duration({minutes: $minutes})",
            name=name,
            minutes=minutes,
        )
    jobs.prune(graph, days=7)
    assert rows(driver, "MATCH (w:Worker) RETURN w.name AS name") == [{"name": "new"}]


STUCK_SECONDS = 60.0


def test_queue_time_does_not_count_as_stuck(graph: Graph, driver: neo4j.Driver) -> None:
    request(graph)
    _, owner = owned(graph, "w")
    jobs.give_back(graph, owner)
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    _, owner = owned(graph, "w")
    assert jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)


def _let_pass(driver: neo4j.Driver, seconds: float) -> None:
    rows(
        driver,
        "MATCH (j:Job) SET j.progressed_at = j.progressed_at - duration({milliseconds: $milliseconds})",
        milliseconds=int(1000 * seconds),
    )


def test_retried_divided_job_is_divided_again(graph: Graph) -> None:
    job_id = pausing(graph)
    jobs.cancel_job(graph, job_id)
    jobs.retry_job(graph, job_id)
    _, owner = owned(graph, "w")
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    assert len(jobs.unfinished_parts(graph, job_id)) == 3


def test_parts_are_made_once(graph: Graph) -> None:
    job_id, owner = divided(graph)
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    assert jobs.unfinished_parts(graph, job_id) == sorted(PARTS)
    jobs.add_parts(graph, owner, "test", "notes", [])
    assert jobs.find_job(graph, job_id).parts == 3


def test_released_job_keeps_its_queue_position(graph: Graph) -> None:
    request(graph, "first")
    _, owner = owned(graph, "w")
    request(graph, "second")
    jobs.give_back(graph, owner, keeps_place=True)
    done: list[str | None] = []
    while job := claim(graph, "w"):
        done.append(job.ontology)
        finish(graph, job, jobs.Owner(job.job_id, "w", job.fence, LEASE))
    assert done == ["first", "second"]


def test_a_heartbeat_keeps_the_lease(graph: Graph) -> None:
    request(graph)
    _, owner = owned(graph, "first", lease=0.5)
    for _ in range(4):
        time.sleep(0.25)
        jobs.heartbeat(graph, owner)
        assert claim(graph, "second") is None
