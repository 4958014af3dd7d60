from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kg_api.errors import InvalidInput, KgError, LeaseLost, NotFound, StorageFull, TooBusy
from kg_api.graph import jobs
from kg_api.graph.cache import MAX_CALLER_LENGTH, MAX_KEY_LENGTH, process_once
from kg_api.graph.client import Graph, Transaction
from kg_api.ingest import service as ingest
from kg_api.schemas.documents import DocumentRecord, GivenBatch
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.graph.job_machine import Machine
from tests.support.cypher import rows
from tests.support.jobs import advance, claim, finish, owned, request
from tests.support.sync import READER


def test_one_job_a_slot(graph: Graph) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: jobs.enqueue_slot(graph, "backfill", "17"), range(24)))
    assert ids == {"backfill-17"}
    shown, total = jobs.read_jobs_page(graph, state=None, kind=None, ontology=None, offset=0, limit=10)
    assert (shown, total) == ([], 0), "scheduled jobs are shown only when asked for"
    _, total = jobs.read_jobs_page(graph, state=None, kind="backfill", ontology=None, offset=0, limit=10)
    assert total == 1


EMBEDDING = "source_embedding"


def is_paused(driver: neo4j.Driver) -> bool:
    return bool(rows(driver, "MATCH (o:Ontology {name: 'notes'}) WHERE o.paused RETURN o.name"))


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


def test_scheduled_jobs_are_kept_for_an_hour(graph: Graph, driver: neo4j.Driver) -> None:
    jobs.enqueue_slot(graph, "backfill")
    job, owner = owned(graph, "w", kind="backfill")
    finish(graph, job, owner)
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('PT50M')")
    assert jobs.prune(graph, days=7) == 0
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('PT20M')")
    assert jobs.prune(graph, days=7) == 1


def test_last_failure_that_a_user_must_fix_is_kept(graph: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "CREATE (:Ontology {name: 'notes'})")
    for ontology in ("notes", "gone"):
        request(graph, ontology, kind=jobs.EXTRACTION)
        _, owner = owned(graph, "w", kind=jobs.EXTRACTION)
        jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=True)
    rows(driver, "MATCH (j:Job) SET j.finished_at = j.finished_at - duration('P8D')")
    request(graph, "other", kind=jobs.EXTRACTION)
    assert jobs.prune(graph, days=7) == 1, "of the deleted ontology"
    assert jobs.prune(graph, days=7) == 0
    request(graph, kind=jobs.EXTRACTION)
    assert jobs.prune(graph, days=7) == 1


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
    page, total = jobs.read_jobs_page(graph, state=None, kind="test", ontology=None, offset=0, limit=9)
    assert ([each.job_id for each in page], total, page[0].parts) == ([job_id], 1, 3)
    assert jobs.read_embedding_progress(graph) == {}
    assert jobs.read_embedding_progress(graph, "test") == {"notes": jobs.Progress(0, 9, replaces=True)}


def test_consecutive_deaths_of_wholes_delay_a_restart(graph: Graph) -> None:
    request(graph)
    finish(graph, *owned(graph, "w"))
    for deaths in (1, 2):
        _, owner = divided(graph)
        jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=False)
        assert jobs.must_wait_to_restart(graph, "test", "notes", at_most=600) == (deaths == 2)


def test_parts_of_a_stuck_whole_are_cancelled(graph: Graph) -> None:
    job_id = pausing(graph)
    _, owner = owned(graph, "w")
    advance(graph, owner, "", "a")
    jobs.retry_job(graph, job_id)
    assert [claim(graph, f"other {number}") is not None for number in range(2)] == [True, True]
    _, whole = owned(graph, "whole")
    assert not jobs.heartbeat(graph, whole, stuck_seconds=0)
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
    _, total = jobs.read_jobs_page(graph, state=None, kind=None, ontology=None, offset=0, limit=9)
    assert total == 4, "what was refused left nothing behind"


def test_workers_are_known_while_they_live(graph: Graph, driver: neo4j.Driver) -> None:
    for name in ("a", "b", "a"):
        jobs.sign_of_life(graph, name, host="h", pid=7)
    seen = rows(driver, "MATCH (w:Worker) RETURN w.name AS name, w.seen_at >= w.started_at AS fine")
    assert sorted(row["name"] for row in seen) == ["a", "b"]
    assert all(row["fine"] for row in seen)
    jobs.delete_worker(graph, "a")
    jobs.delete_worker(graph, "a")
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


def test_queue_time_and_progress_are_not_stuck(graph: Graph, driver: neo4j.Driver) -> None:
    request(graph, added=2)
    _, owner = owned(graph, "w")
    jobs.give_back(graph, owner)
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    _, owner = owned(graph, "w")
    assert jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    advance(graph, owner, "", "a")
    assert jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)
    _let_pass(driver, 1.2 * STUCK_SECONDS)
    assert not jobs.heartbeat(graph, owner, stuck_seconds=STUCK_SECONDS)
    assert rows(driver, "MATCH (j:Job) RETURN j.unique_key AS key") == [{"key": None}], "it can be requested"


def _let_pass(driver: neo4j.Driver, seconds: float) -> None:
    rows(
        driver,
        "MATCH (j:Job) SET j.progressed_at = j.progressed_at - duration({milliseconds: $milliseconds})",
        milliseconds=int(1000 * seconds),
    )


SHORT = settings(
    max_examples=15,
    stateful_step_count=40,
    derandomize=True,
    phases=[Phase.generate],  # to shrink a failure takes five minutes: run the long one for that
)
LONG = settings(max_examples=400, stateful_step_count=80)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, id="long", marks=[pytest.mark.full, pytest.mark.timeout(3600)]),
    ],
)
def test_jobs_are_as_the_model_whatever_happens(
    migrated_graph: Graph, driver: neo4j.Driver, size: settings
) -> None:
    patient = settings(size, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])

    class OnTheDatabase(Machine):
        def __init__(self) -> None:
            super().__init__(migrated_graph, driver)

    run_state_machine_as_test(OnTheDatabase, settings=patient)


def test_unknown_job_kinds_are_counted(graph: Graph) -> None:
    for number in range(3):
        request(graph, f"o{number}")
    assert jobs.count_unknown_kinds(graph, ["test"]) == {}
    assert jobs.count_unknown_kinds(graph, ["other"]) == {"test": 3}


def test_worker_continues_its_own_job_before_others(graph: Graph) -> None:
    own = request(graph, "own")
    assert claim(graph, "w") is not None
    for name in ("w", "other"):
        jobs.sign_of_life(graph, name, host="machine", pid=1)
    for ontology in ("a", "b"):
        request(graph, ontology)
    claimed = [claim(graph, "w", max_failures=99) for _ in range(8)]
    assert {each.job_id for each in claimed if each} == {own}


def ask(
    graph: Graph, key: str = "k", body: str = "h", ontology: str = "notes"
) -> tuple[dict[str, Any], bool]:
    def work(tx: Transaction) -> tuple[dict[str, Any], bool]:
        return process_once(
            tx, key, body, lambda: {"job_id": jobs.request_job(tx, "test", ontology, added=1)}
        )

    return graph.transaction(work)


def test_a_request_that_fails_keeps_nothing(graph: Graph) -> None:
    def fail(tx: Transaction) -> object:
        return process_once(tx, "k", "h", lambda: {}["missing"])

    with pytest.raises(KeyError):
        graph.transaction(fail)
    assert ask(graph, body="other")[1]


def test_batch_with_a_temporary_failure_runs_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Graph, records: Sequence[DocumentRecord], __: object) -> dict[str, KgError]:
        return {each.document_id: StorageFull("the disk is full") for each in records}

    service = ingest.IngestService(graph, READER, lambda *_: None)
    batch = GivenBatch(documents=[{"ontology": "notes", "document": "a.txt", "text": "A."}])
    with monkeypatch.context() as full:
        full.setattr(ingest, "store_each", fail)
        assert service.ingest_batch(batch, "k").outcomes[0].problem
    assert service.ingest_batch(batch, "k").outcomes[0].ingested


def test_an_answer_is_kept_for_a_day(graph: Graph, driver: neo4j.Driver) -> None:
    def age(hours: int) -> None:
        rows(driver, "MATCH (a:KeptAnswer) SET a.kept_at = a.kept_at - duration({hours: $h})", h=hours)

    ask(graph)
    age(23)
    jobs.prune(graph, days=7)
    assert not ask(graph)[1]
    age(2)
    assert ask(graph, body="other")[1], "what is too old is as if it had never been"
    assert not ask(graph, body="other")[1]
    age(25)
    jobs.prune(graph, days=7)
    assert rows(driver, "MATCH (a:KeptAnswer) RETURN a.key") == []


@pytest.mark.parametrize("key", ["", "k" * (MAX_KEY_LENGTH + MAX_CALLER_LENGTH + 1)])
def test_a_key_has_a_length(graph: Graph, key: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 255"):
        ask(graph, key)
