"""Who goes first, how many may wait, and who is there to work (G22, G24, G26, G27, G28)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import neo4j
import pytest

from kg_api.errors import TooBusy
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.jobs import request_job, would_be_taken
from tests.support.cypher import rows
from tests.support.jobs import LEASE, advance, claim, finish, owned, request


def order(graph: Graph, worker: str = "w") -> list[str | None]:
    """The ontologies of all jobs that can be had, in the order in which a worker does them."""
    done: list[str | None] = []
    while job := claim(graph, worker):
        done.append(job.ontology)
        finish(graph, job, jobs.Owner(job.job_id, worker, job.fence, LEASE))
    return done


def test_the_longest_in_the_queue_goes_first(graph: Graph) -> None:
    names = [f"o{number}" for number in range(14)]
    for name in names:
        request(graph, name)
    assert order(graph) == names


def test_an_ontology_for_which_nothing_runs_goes_first(graph: Graph) -> None:
    request(graph, "busy")
    owned(graph, "first")
    for kind in ("a", "b"):
        graph.transaction(lambda tx, kind=kind: jobs.request_job(tx, kind, "busy", added=1))
    request(graph, "idle")
    taken = [
        jobs.claim(graph, f"w{number}", ["test", "a", "b"], lease_seconds=LEASE, max_failures=5)
        for number in range(3)
    ]
    assert [job and job.ontology for job in taken] == ["idle", "busy", "busy"]


def test_what_a_lost_worker_left_goes_before_all(graph: Graph) -> None:
    lost = request(graph, "lost")
    owned(graph, "gone", lease=0.1)
    request(graph, "waiting")
    time.sleep(0.2)
    assert owned(graph, "w")[0].job_id == lost


def test_a_job_that_has_had_its_turn_goes_behind_the_others(graph: Graph) -> None:
    huge = request(graph, "huge")
    _, owner = owned(graph, "w")
    advance(graph, owner, "", "place")
    request(graph, "small 1")
    request(graph, "small 2")
    jobs.give_back(graph, owner)
    assert order(graph) == ["small 1", "small 2", "huge"]
    done = jobs.find_job(graph, huge)
    assert (done.attempts, done.done) == (2, 1)


def test_a_job_that_had_its_turn_keeps_its_place_and_its_record(graph: Graph) -> None:
    request(graph)
    job, owner = owned(graph, "w")
    advance(graph, owner, "", "place")
    jobs.give_back(graph, owner)
    again, _ = owned(graph, "w")
    assert (again.cursor, again.failures, again.waits, again.done) == ("place", 0, 0, 1)
    assert again.fence == job.fence + 1


def test_a_job_given_back_at_the_end_of_a_worker_keeps_its_place_in_the_queue(graph: Graph) -> None:
    request(graph, "first")
    _, owner = owned(graph, "w")
    request(graph, "second")
    jobs.give_back(graph, owner, keeps_place=True)
    assert order(graph) == ["first", "second"]


def test_a_job_that_fails_again_and_again_does_not_hold_up_the_others(graph: Graph) -> None:
    request(graph, "bad")
    _, owner = owned(graph, "w")
    for name in ("good 1", "good 2"):
        request(graph, name)
    jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=False)
    assert order(graph) == ["good 1", "good 2", "bad"]


def test_only_jobs_that_could_be_had_end_a_turn(graph: Graph) -> None:
    request(graph)
    job, _ = owned(graph, "w")
    assert not jobs.others_wait(graph, job, ["test"]), "nobody waits"
    graph.transaction(lambda tx: jobs.request_job(tx, "strange", "other", added=1))
    assert not jobs.others_wait(graph, job, ["test"]), "nobody here can do that one"
    request(graph, "later")
    _, later = owned(graph, "other")
    jobs.give_back(graph, later, delay_seconds=3600)
    assert not jobs.others_wait(graph, job, ["test"]), "it is not its time"
    request(graph, "ready")
    assert jobs.others_wait(graph, job, ["test"])


def test_parts_of_one_job_do_not_end_each_others_turns(graph: Graph) -> None:
    request(graph)
    whole, owner = owned(graph, "w")
    jobs.add_parts(graph, owner, "test", "notes", ["a:b", "b:c"])
    assert not jobs.others_wait(graph, whole, ["test"])


def test_workers_that_are_many_do_not_take_a_job_twice_nor_go_away_empty(graph: Graph) -> None:
    """A worker that comes too late for one takes another at once, it does not wait for its next look."""
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


def test_a_text_is_not_refused_because_others_asked_for_work_in_between(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(tx: Transaction, *, limited: bool) -> str:
        return request_job(tx, "test", "concepts of the text", added=1, limited=limited)

    monkeypatch.setattr(graph, "most_queued", 1)
    assert graph.transaction(lambda tx: would_be_taken(tx, "test", "concepts of the text"))
    request(graph, "of others")
    with pytest.raises(TooBusy):
        graph.transaction(partial(ask, limited=True))
    job_id = graph.transaction(partial(ask, limited=False))
    assert jobs.find_job(graph, job_id).total == 1


def test_joining_widens_what_a_job_is_about(graph: Graph) -> None:
    request(graph, selection="missing")
    request(graph, selection="missing")
    assert owned(graph, "w")[0].selection == "missing"
    job_id = request(graph, selection="stale")
    assert jobs.find_job(graph, job_id).selection == "due"


def test_a_running_job_learns_what_was_asked_for_meanwhile(graph: Graph) -> None:
    request(graph, selection="missing")
    job, owner = owned(graph, "w")
    assert (job.selection, job.forced_at) == ("missing", None)
    job_id = request(graph, selection="stale", force=True)
    asked = jobs.finish(graph, owner, wanted=job.wanted)
    assert asked is not None
    assert (asked.selection, asked.wanted) == ("due", 2)
    assert asked.forced_at is not None
    assert jobs.find_job(graph, job_id).forced


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


def test_ticks_of_one_slot_are_one_job(graph: Graph, driver: neo4j.Driver) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: jobs.enqueue_slot(graph, "backfill", every_seconds=86_400), range(16)))
    assert len(ids) == 1
    assert rows(driver, "MATCH (j:Job) RETURN count(j) AS n") == [{"n": 1}]


def test_kinds_that_a_worker_does_not_know_are_told(graph: Graph) -> None:
    for number in range(3):
        request(graph, f"o{number}")
    assert jobs.unknown_kinds(graph, ["test"]) == {}
    assert jobs.unknown_kinds(graph, ["other"]) == {"test": 3}


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


def test_a_job_that_gets_nothing_done_dies_though_its_worker_lives(
    graph: Graph, driver: neo4j.Driver
) -> None:
    job_id = request(graph)
    _, owner = owned(graph, "w")
    for number in range(4):
        _let_pass(driver, 0.8 * STUCK_SECONDS)
        assert jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS), "it gets on"
        advance(graph, owner, str(number - 1) if number else "", str(number))
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    assert not jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)
    told = jobs.find_job(graph, job_id)
    assert (told.state, told.error) == (
        "dead",
        "timeout: nothing was done for 60 s",
    )
    assert request(graph) != job_id


def test_time_in_the_queue_is_no_time_of_being_stuck(graph: Graph, driver: neo4j.Driver) -> None:
    request(graph)
    _, owner = owned(graph, "w")
    jobs.give_back(graph, owner)
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    _, owner = owned(graph, "w")
    assert jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)


def _let_pass(driver: neo4j.Driver, seconds: float) -> None:
    """Let so much time have passed since a job got something done."""
    rows(
        driver,
        "MATCH (j:Job) SET j.progressed_at = j.progressed_at - duration({milliseconds: $milliseconds})",
        milliseconds=int(1000 * seconds),
    )
