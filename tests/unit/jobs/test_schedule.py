"""Ticks: one at once, one for however many were missed; and what a worker says of itself."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from kg_api.errors import DatabaseUnavailable
from kg_api.jobs.backfill import ALWAYS, ticking
from kg_api.jobs.runner import WorkerRegistration
from tests.support.running import wait_until
from tests.unit.jobs.fakes import FakeGraph

TICK = "jobs/enqueue_slot"


def slots(name: str, _: dict[str, Any]) -> list[dict[str, Any]]:
    """A database in which nothing but the slot is to be made."""
    return [{"job_id": "backfill-1"}] if name == TICK else []


def test_it_ticks_at_once_and_then_regularly() -> None:
    graph = FakeGraph(slots)
    with ticking(graph.graph, 0.2):
        wait_until(lambda: graph.count(TICK) == 1, 5)
        wait_until(lambda: graph.count(TICK) >= 3, 5)
    ended = graph.count(TICK)
    time.sleep(0.5)
    assert graph.count(TICK) == ended
    given = [parameters for name, parameters in graph.ran if name == TICK]
    assert {each["every_seconds"] for each in given} == {0.2}
    assert {each["slot"] for each in given} == {None}, "the database says which slot it is"


def test_ticks_that_were_missed_are_made_up_for_by_one() -> None:
    """One takes as long as five slots: then comes one, not five, and it is not forgotten for being late."""
    done: list[float] = []
    held = threading.Event()

    def slow(name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        if name == TICK:
            if not done:
                held.wait(1.0)
            done.append(time.monotonic())
        return slots(name, parameters)

    with ticking(FakeGraph(slow).graph, 0.2):
        wait_until(lambda: len(done) == 3, 10)
    assert done[2] - done[1] > 0.05, "no burst"


def test_how_late_a_tick_may_be_is_said_and_not_left_to_the_library() -> None:
    assert ALWAYS["misfire_grace_time"] is None, "however late"
    assert ALWAYS["coalesce"] is True


def test_a_database_that_is_away_is_no_end_of_the_ticks() -> None:
    def fail_first(name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        if graph.count(TICK) == 1:
            raise DatabaseUnavailable
        return slots(name, parameters)

    graph = FakeGraph(fail_first)
    with ticking(graph.graph, 0.1):
        wait_until(lambda: graph.count(TICK) >= 2, 5)


def waiting(kinds: dict[str, int]) -> FakeGraph:
    def answers(name: str, _: dict[str, Any]) -> list[dict[str, Any]]:
        if name == "jobs/unknown_kinds":
            return [{"kind": kind, "waiting": number} for kind, number in kinds.items()]
        return []

    return FakeGraph(answers)


def test_each_unknown_kind_is_told_once() -> None:
    kinds = {"strange": 2}
    presence = WorkerRegistration(waiting(kinds).graph, "w", ["test"])
    with capture_logs() as logs:
        presence.report()
        kinds |= {"stranger": 1, "strange": 9}
        presence.report()
        presence.report()
    assert [(each["kind"], each["waiting"]) for each in logs] == [("strange", 2), ("stranger", 1)]


def test_a_worker_shows_itself_at_once_and_takes_its_name_off_the_list_at_its_end() -> None:
    graph = waiting({})
    presence = WorkerRegistration(graph.graph, "w", ["test"])
    with ticking(graph.graph, 3600, presence) as _:
        wait_until(lambda: graph.count("workers/seen") == 1, 5)
    assert graph.ran[-1] == ("workers/forget", {"name": "w"})
    presence.report()
    assert graph.count("workers/seen") == 1, "a late sign does not put it there again"


@pytest.mark.parametrize("step", ["report", "end"])
def test_a_database_that_is_away_does_not_hold_a_worker_up(step: str) -> None:
    def away(_: str, __: dict[str, Any]) -> list[dict[str, Any]]:
        raise DatabaseUnavailable

    with capture_logs() as logs:
        getattr(WorkerRegistration(FakeGraph(away).graph, "w", []), step)()
    assert len(logs) == 1
