"""The sign of life of a worker: it goes on, it stops, and it notices that the job is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kg_api.errors import DatabaseUnavailable, LeaseLost
from kg_api.graph.jobs import ClaimedJob, Owner
from kg_api.jobs.runner import STUCK_EXIT_CODE, Heartbeat, JobRun, Paused, Stopped, TimeSlice, Yielded
from tests.support.running import wait_until
from tests.unit.jobs.fakes import FakeGraph

OWNER = Owner("job-1", "worker-1", 7, 0.2)
ALIVE = [{"stuck": False}]
STUCK = [{"stuck": True}]
BEAT = "jobs/heartbeat"


def answering(answer: Callable[[int], list[dict[str, Any]]]) -> FakeGraph:
    """Answers heartbeats by their number, from 1."""
    beats = iter(range(1, 10**6))

    def answers(name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        if name != BEAT:
            assert name == "jobs/end_parts"
            return []
        assert {
            **OWNER.parameters(),
            "lease_seconds": 0.2,
            "stuck_seconds": 60.0,
        }.items() <= parameters.items()
        return answer(next(beats))

    return FakeGraph(answers)


def heartbeat(graph: FakeGraph, every: float = 0.01, **more: Any) -> Heartbeat:
    return Heartbeat(graph.graph, OWNER, every, stuck_seconds=60.0, **more)


def test_it_beats_until_the_work_ends() -> None:
    graph = answering(lambda _: ALIVE)
    with heartbeat(graph) as beat:
        wait_until(lambda: graph.count(BEAT) >= 5, 10)
    assert not beat.lost.is_set()
    beats = graph.count(BEAT)
    time.sleep(0.1)
    assert graph.count(BEAT) == beats


def test_it_notices_that_the_job_is_lost_and_is_silent_then() -> None:
    graph = answering(lambda number: ALIVE if number < 3 else [])
    with heartbeat(graph) as beat:
        assert beat.lost.wait(10)
        time.sleep(0.1)
    assert graph.count(BEAT) == 3


@pytest.mark.parametrize("error", [DatabaseUnavailable("away"), RuntimeError("nobody foresaw it")])
def test_a_beat_that_fails_is_not_the_last(error: Exception) -> None:
    def fail_twice(number: int) -> list[dict[str, Any]]:
        if number < 3:
            raise error
        return ALIVE

    graph = answering(fail_twice)
    with heartbeat(graph) as beat:
        wait_until(lambda: graph.count(BEAT) >= 4, 10)
    assert not beat.lost.is_set()


def test_it_ends_at_once_between_two_beats() -> None:
    begun = time.monotonic()
    with heartbeat(answering(lambda _: ALIVE), every=3600):
        pass
    assert time.monotonic() - begun < 60


def test_it_ends_when_the_work_fails() -> None:
    graph = answering(lambda _: ALIVE)
    with pytest.raises(ValueError, match="work"), heartbeat(graph):
        raise ValueError("work")
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_a_stuck_job_is_given_up_and_a_handler_that_comes_back_is_spared() -> None:
    left: list[int] = []
    graph = answering(lambda number: ALIVE if number < 3 else STUCK)
    with heartbeat(graph, leave=left.append) as beat:
        assert beat.lost.wait(10)
    time.sleep(2 * OWNER.lease_seconds)
    assert left == []
    assert graph.count(BEAT) == 3, "no sign of life is given any more"
    assert graph.ran[-1] == ("jobs/end_parts", {"job_id": "job-1"})


def test_a_handler_that_does_not_come_back_takes_the_process_with_it() -> None:
    left: list[int] = []
    begun = time.monotonic()
    with heartbeat(answering(lambda _: STUCK), leave=left.append):
        wait_until(lambda: bool(left), 10)
        assert time.monotonic() - begun >= OWNER.lease_seconds
    assert left == [STUCK_EXIT_CODE]


def job_run(
    *, stopping: bool = False, lost: bool = False, others: bool = False, seconds: float = 0.0
) -> JobRun:
    """A run whose turn is over after so many seconds, if others wait."""
    stop, gone = threading.Event(), threading.Event()
    if stopping:
        stop.set()
    if lost:
        gone.set()
    job = ClaimedJob("job-1", "test", "running", "notes", 7, "cursor", 1, 0, 0)
    graph = FakeGraph(lambda _, __: [{"others": others}]).graph
    turn = TimeSlice(graph, ["test"], seconds)
    return JobRun(graph, job, OWNER, stopping=stop, lost=gone, turn=turn)


def test_a_checkpoint_lets_a_worker_go_on() -> None:
    job_run().checkpoint()


def test_a_checkpoint_stops_a_worker_that_is_told_to() -> None:
    with pytest.raises(Stopped):
        job_run(stopping=True).checkpoint()


@pytest.mark.parametrize("stopping", [True, False])
def test_a_checkpoint_ends_a_job_that_is_lost(stopping: bool) -> None:
    """Also when stopping: what is lost must not be given back."""
    with pytest.raises(LeaseLost):
        job_run(stopping=stopping, lost=True, others=True).checkpoint()


def test_a_checkpoint_ends_a_turn_when_others_wait() -> None:
    with pytest.raises(Yielded):
        job_run(others=True).checkpoint()


def test_a_turn_has_its_time_though_others_wait() -> None:
    run = job_run(others=True, seconds=0.2)
    run.checkpoint()
    time.sleep(0.3)
    with pytest.raises(Yielded):
        run.checkpoint()


def test_the_database_is_not_asked_at_every_checkpoint() -> None:
    graph = FakeGraph(lambda _, __: [{"others": False}])
    job = ClaimedJob("job-1", "test", "running", None, 7, "cursor", 1, 0, 0)
    turn = TimeSlice(graph.graph, ["test"], 0)
    assert not any(turn.is_over(job) for _ in range(1000))
    about = {"kinds": ["test"], "kind": "test", "ontology": "", "parent_id": None, "rank": 0, "over": True}
    assert graph.ran == [("jobs/others_wait", about)]


def test_a_pause_says_how_long() -> None:
    with pytest.raises(Paused) as caught:
        job_run().pause(7.5)
    assert caught.value.seconds == 7.5
