"""Jobs that are divided: their parts are claimed like others, count for the whole, and end with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

import neo4j
import pytest

from kg_api.errors import Conflict, LeaseLost
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.support.cypher import rows
from tests.support.jobs import advance, claim, finish, owned, request

PARTS = (":4", "4:8", "8:")


def divided(graph: Graph, total: int = 9) -> tuple[str, jobs.Owner]:
    """A job whose owner has divided it."""
    job_id = request(graph, added=total, selection="missing", force=True)
    _, owner = owned(graph, "whole")
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    return job_id, owner


def pausing(graph: Graph) -> str:
    """A divided job that waits for its parts."""
    job_id, owner = divided(graph)
    jobs.give_back(graph, owner, delay_seconds=3600)
    return job_id


def test_parts_are_about_what_their_whole_is_about(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = pausing(graph)
    claimed = [owned(graph, f"w{number}")[0] for number in range(3)]
    assert [each.part for each in sorted(claimed, key=lambda each: each.part)] == [*sorted(PARTS)]
    assert {(each.parent_id, each.selection, each.ontology) for each in claimed} == {
        (job_id, "missing", "notes")
    }
    forced_at = rows(driver, "MATCH (j:Job {job_id: $id}) RETURN j.forced_at AS at", id=job_id)[0]["at"]
    assert {each.forced_at for each in claimed} == {forced_at}
    assert forced_at is not None


def test_parts_are_made_once(graph: Graph) -> None:
    job_id, owner = divided(graph)
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    assert jobs.unfinished_parts(graph, job_id) == sorted(PARTS)
    jobs.add_parts(graph, owner, "test", "notes", [])
    assert jobs.find_job(graph, job_id).parts == 3


def test_only_its_owner_divides_a_job(graph: Graph) -> None:
    job_id, owner = divided(graph)
    stranger = jobs.Owner(job_id, "stranger", owner.fence + 1, 30)
    with pytest.raises(LeaseLost):
        jobs.add_parts(graph, stranger, "test", "notes", ["x:y"])
    jobs.cancel_job(graph, job_id)
    with pytest.raises(LeaseLost):
        jobs.add_parts(graph, owner, "test", "notes", ["x:y"])
    assert jobs.unfinished_parts(graph, job_id) == []


def test_an_ontology_that_is_called_like_a_part_has_a_job_of_its_own(graph: Graph) -> None:
    job_id = pausing(graph)
    names = ["notes:4:8", f"{job_id}:4:8"]
    assert len({request(graph, name) for name in names} & {row.job_id for row in parts(graph, job_id)}) == 0


def parts(graph: Graph, job_id: str) -> list[Job]:
    query: LiteralString = "MATCH (j:Job {parent_id: $id}) RETURN j.job_id AS id"
    found = graph.transaction(lambda tx: tx._transaction.run(query, id=job_id).data())
    return [jobs.find_job(graph, row["id"]) for row in found]


def test_parts_count_for_the_whole_in_the_same_transaction(graph: Graph) -> None:
    job_id = pausing(graph)
    _, owner = owned(graph, "w")
    advance(graph, owner, "", "a", done=2, set_aside=1)
    advance(graph, owner, "", "a", done=2, set_aside=1)
    whole = jobs.find_job(graph, job_id)
    assert (whole.done, whole.total, whole.set_aside) == (2, 9, 1), "a repeated commit is counted once"


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


def test_parts_are_not_among_the_jobs_of_a_list(graph: Graph) -> None:
    job_id = pausing(graph)
    page, total = jobs.page_of_jobs(graph, state=None, kind="test", ontology=None, offset=0, limit=9)
    assert ([each.job_id for each in page], total, page[0].parts) == ([job_id], 1, 3)
    assert jobs.embedding_progress(graph) == {}


def test_the_last_part_lets_the_whole_go_on_at_once(graph: Graph) -> None:
    job_id = pausing(graph)
    for number in range(3):
        job, owner = owned(graph, "w")
        assert job.parent_id == job_id
        assert claim(graph, "other") is None or number < 2
        advance(graph, owner, "", "a", set_aside=int(number == 0))
        finish(graph, job, owner)
        for each in parts(graph, job_id):
            if each.state is JobState.RUNNING:
                jobs.give_back(graph, jobs.Owner(each.job_id, "other", 1, 30), keeps_place=True)
    whole, owner = owned(graph, "w")
    assert whole.job_id == job_id
    finish(graph, whole, owner)
    told = jobs.find_job(graph, job_id)
    assert (told.state, told.set_aside, told.done) == (JobState.COMPLETED_WITH_ERRORS, 1, 3)
    states = sorted(each.state for each in parts(graph, job_id))
    assert states == ["completed", "completed", "completed_with_errors"]


def end_by_cancelling(graph: Graph, job_id: str) -> None:
    jobs.cancel_job(graph, job_id)


def end_by_failing(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    owner = whole_again(graph, job_id)
    assert jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=5, permanent=True) == "dead"


def end_by_being_stuck(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    assert not jobs.heartbeat(graph, whole_again(graph, job_id), stuck_seconds=0)


def end_by_finishing(graph: Graph, job_id: str) -> None:
    jobs.retry_job(graph, job_id)
    assert jobs.finish(graph, whole_again(graph, job_id), wanted=1) is None


def whole_again(graph: Graph, job_id: str) -> jobs.Owner:
    """The whole, taken before its other parts."""
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


def test_a_part_writes_nothing_when_its_whole_has_gone(graph: Graph, driver: neo4j.Driver) -> None:
    """Even where nobody told the part."""
    job_id = pausing(graph)
    _, owner = owned(graph, "w")
    rows(driver, "MATCH (j:Job {job_id: $id}) SET j.state = 'dead'", id=job_id)
    with pytest.raises(LeaseLost):
        advance(graph, owner, "", "a")
    rows(driver, "MATCH (j:Job {job_id: $id}) DELETE j", id=job_id)
    with pytest.raises(LeaseLost):
        advance(graph, owner, "", "a")


def test_a_part_can_be_cancelled_and_tried_again_alone(graph: Graph) -> None:
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


def test_a_divided_job_that_is_tried_again_is_divided_anew(graph: Graph) -> None:
    job_id = pausing(graph)
    jobs.cancel_job(graph, job_id)
    jobs.retry_job(graph, job_id)
    _, owner = owned(graph, "w")
    jobs.add_parts(graph, owner, "test", "notes", PARTS)
    assert len(jobs.unfinished_parts(graph, job_id)) == 3


def test_dead_parts_do_not_make_the_work_rest(graph: Graph) -> None:
    pausing(graph)
    _, owner = owned(graph, "w")
    jobs.fail(graph, owner, "E: x", delay_seconds=0, max_failures=1, permanent=True)
    assert not jobs.rests(graph, "test", "notes", at_most=600)
