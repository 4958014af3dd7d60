"""The database changes jobs like the model for all actions of workers and users in any order.

Invariants: one owner per job (G4), resume at the cursor (G9), failed jobs are visible and can be
retried (G17), progress decreases only by a retry and never exceeds the total (G21).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kg_api.errors import LeaseLost
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from tests.graph.job_machine import Machine
from tests.support.cypher import rows
from tests.support.jobs import claim, finish, owned, request

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


def taken_from_a_lost_worker(graph: Graph, driver: neo4j.Driver) -> tuple[str, jobs.Owner]:
    job_id = request(graph)
    owned(graph, "first")
    late = "datetime.realtime() - duration('PT1S')"
    rows(driver, f"MATCH (j:Job {{job_id: $id}}) SET j.lease_until = {late}", id=job_id)
    return job_id, owned(graph, "second")[1]


def finish_the_only_part(graph: Graph) -> None:
    part, owner = owned(graph, "w")
    assert part.parent_id is not None
    finish(graph, part, owner)


def test_lost_whole_resumes_after_its_last_part(graph: Graph, driver: neo4j.Driver) -> None:
    """This was found by the state machine. The job was treated as if it had to wait for a retry."""
    job_id, owner = taken_from_a_lost_worker(graph, driver)
    jobs.add_parts(graph, owner, "test", "notes", [":"])
    jobs.give_back(graph, owner, delay_seconds=3600)
    finish_the_only_part(graph)
    whole = claim(graph, "w")
    assert whole is not None, "it waits for its parts, and not to be tried again"
    assert (whole.job_id, whole.failures) == (job_id, 1)
    assert jobs.find_job(graph, job_id).error is None


def test_time_slice_keeps_the_recorded_error(graph: Graph, driver: neo4j.Driver) -> None:
    job_id, owner = taken_from_a_lost_worker(graph, driver)
    jobs.give_back(graph, owner)
    assert jobs.find_job(graph, job_id).error == "its worker first was lost"


def test_waiting_whole_retries_despite_its_last_part(graph: Graph) -> None:
    """The time of the retry can be set by a provider."""
    job_id = request(graph)
    _, owner = owned(graph, "whole")
    jobs.add_parts(graph, owner, "test", "notes", [":"])
    jobs.give_back(graph, owner, error="waiting: no answer", delay_seconds=3600)
    finish_the_only_part(graph)
    assert claim(graph, "w") is None
    assert jobs.find_job(graph, job_id).error == "waiting: no answer"


@pytest.mark.parametrize("cancelled", [True, False], ids=["refused", "repeated"])
def test_failed_end_of_a_part_keeps_its_whole(graph: Graph, driver: neo4j.Driver, *, cancelled: bool) -> None:
    job_id = request(graph)
    _, owner = owned(graph, "whole")
    jobs.add_parts(graph, owner, "test", "notes", [":"])
    jobs.give_back(graph, owner, delay_seconds=3600)
    part, owner = owned(graph, "w")
    if cancelled:
        jobs.cancel_job(graph, part.job_id)
    else:
        finish(graph, part, owner)
    before = place_of(driver, job_id)
    with pytest.raises(LeaseLost) if cancelled else nullcontext():
        finish(graph, part, owner)
    assert place_of(driver, job_id) == before


def place_of(driver: neo4j.Driver, job_id: str) -> list[dict[str, Any]]:
    return rows(
        driver, "MATCH (j:Job {job_id: $id}) RETURN j.run_after AS after, j.queued_at AS queued", id=job_id
    )
