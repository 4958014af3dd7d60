"""The sign of life of a worker: it goes on, it stops, and it notices that the job is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from kg_api.errors import DatabaseUnavailable, LeaseLost
from kg_api.graph.database import Graph
from kg_api.graph.jobs import ClaimedJob, Owner
from kg_api.jobs.run import Heartbeat, JobRun, Stopped
from tests.support.running import wait_until

OWNER = Owner("job-1", "worker-1", 7, 30.0)
ALIVE = [{"job_id": "job-1"}]


class FakeGraph:
    """Answers heartbeats; any other query is unknown to it."""

    def __init__(self, answer: Callable[[int], list[dict[str, Any]]]) -> None:
        self.beats = 0
        self._answer = answer

    def write(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        assert name == "jobs/heartbeat"
        assert parameters == {"job_id": "job-1", "worker": "worker-1", "fence": 7, "lease_seconds": 30.0}
        self.beats += 1
        return self._answer(self.beats)


def heartbeat(graph: FakeGraph, every: float = 0.01) -> Heartbeat:
    return Heartbeat(cast("Graph", graph), OWNER, every)


def test_it_beats_until_the_work_ends() -> None:
    graph = FakeGraph(lambda _: ALIVE)
    with heartbeat(graph) as beat:
        wait_until(lambda: graph.beats >= 5, 10)
    assert not beat.lost.is_set()
    beats = graph.beats
    time.sleep(0.1)
    assert graph.beats == beats


def test_it_notices_that_the_job_is_lost_and_is_silent_then() -> None:
    graph = FakeGraph(lambda number: ALIVE if number < 3 else [])
    with heartbeat(graph) as beat:
        assert beat.lost.wait(10)
        time.sleep(0.1)
    assert graph.beats == 3


@pytest.mark.parametrize("error", [DatabaseUnavailable("away"), RuntimeError("nobody foresaw it")])
def test_a_beat_that_fails_is_not_the_last(error: Exception) -> None:
    def fail_twice(number: int) -> list[dict[str, Any]]:
        if number < 3:
            raise error
        return ALIVE

    graph = FakeGraph(fail_twice)
    with heartbeat(graph) as beat:
        wait_until(lambda: graph.beats >= 4, 10)
    assert not beat.lost.is_set()


def test_it_ends_at_once_between_two_beats() -> None:
    begun = time.monotonic()
    with heartbeat(FakeGraph(lambda _: ALIVE), every=3600):
        pass
    assert time.monotonic() - begun < 1


def test_it_ends_when_the_work_fails() -> None:
    graph = FakeGraph(lambda _: ALIVE)
    with pytest.raises(ValueError, match="work"), heartbeat(graph):
        raise ValueError("work")
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


def job_run(*, stopping: bool, lost: bool) -> JobRun:
    stop, gone = threading.Event(), threading.Event()
    if stopping:
        stop.set()
    if lost:
        gone.set()
    job = ClaimedJob("job-1", "test", "running", "notes", 7, "cursor", 1, 0, 0)
    return JobRun(cast("Graph", FakeGraph(lambda _: ALIVE)), job, OWNER, stopping=stop, lost=gone)


def test_a_checkpoint_lets_a_worker_go_on() -> None:
    job_run(stopping=False, lost=False).checkpoint()


def test_a_checkpoint_stops_a_worker_that_is_told_to() -> None:
    with pytest.raises(Stopped):
        job_run(stopping=True, lost=False).checkpoint()


@pytest.mark.parametrize("stopping", [True, False])
def test_a_checkpoint_ends_a_job_that_is_lost(stopping: bool) -> None:
    """Also when stopping: what is lost must not be given back."""
    with pytest.raises(LeaseLost):
        job_run(stopping=stopping, lost=True).checkpoint()
