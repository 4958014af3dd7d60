import math
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from kg_api.errors import DatabaseUnavailable, LeaseLost, LlmUnavailable
from kg_api.graph.jobs import OF_THE_MACHINE, ClaimedJob, Owner, build_job, must_wait_to_restart
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.jobs.backfill import enqueue_periodically
from kg_api.jobs.runner import (
    MAX_DELAY_SECONDS,
    MIN_DELAY_SECONDS,
    STUCK_EXIT_CODE,
    Heartbeat,
    JobRun,
    Stopped,
    TimeSlice,
    WorkerRegistration,
    Yielded,
    _wait_seconds,
    retry_delay,
)
from kg_api.providers.retrying import RetryCancelled, ask_at_once, cancel_waits_on, wait
from tests.support.running import wait_until
from tests.unit.cli.test_job_words import USUAL
from tests.unit.jobs.fakes import FakeGraph

TICK = "jobs/enqueue_slot"


def slots(name: str, _: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"job_id": "backfill-1"}] if name == TICK else []


def test_it_ticks_at_once_and_then_regularly() -> None:
    graph = FakeGraph(slots)
    with enqueue_periodically(graph.graph, 0.2):
        wait_until(lambda: graph.count(TICK) == 1, 5)
        wait_until(lambda: graph.count(TICK) >= 3, 5)
    ended = graph.count(TICK)
    time.sleep(0.5)
    assert graph.count(TICK) == ended
    given = [parameters for name, parameters in graph.ran if name == TICK]
    assert {each["every_seconds"] for each in given} == {0.2}
    assert {each["slot"] for each in given} == {None}, "the database says which slot it is"


def test_ticks_continue_after_a_database_outage() -> None:
    def fail_first(name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        if graph.count(TICK) == 1:
            raise DatabaseUnavailable
        return slots(name, parameters)

    graph = FakeGraph(fail_first)
    with enqueue_periodically(graph.graph, 0.1):
        wait_until(lambda: graph.count(TICK) >= 2, 5)


def waiting(kinds: dict[str, int]) -> FakeGraph:
    def answers(name: str, _: dict[str, Any]) -> list[dict[str, Any]]:
        if name == "jobs/unknown_kinds":
            return [{"kind": kind, "waiting": number} for kind, number in kinds.items()]
        return []

    return FakeGraph(answers)


def test_each_unknown_kind_is_logged_once() -> None:
    kinds = {"strange": 2}
    presence = WorkerRegistration(waiting(kinds).graph, "w", ["test"])
    with capture_logs() as logs:
        presence.report()
        kinds |= {"stranger": 1, "strange": 9}
        presence.report()
        presence.report()
    assert [(each["kind"], each["waiting"]) for each in logs] == [("strange", 2), ("stranger", 1)]


@pytest.mark.parametrize("step", ["report", "end"])
def test_database_outage_does_not_stop_a_worker(step: str) -> None:
    def away(_: str, __: dict[str, Any]) -> list[dict[str, Any]]:
        raise DatabaseUnavailable

    with capture_logs() as logs:
        getattr(WorkerRegistration(FakeGraph(away).graph, "w", []), step)()
    assert len(logs) == 1


FAILURES = st.integers(min_value=0, max_value=10**4)
JITTER = st.floats(min_value=0, max_value=1)


@given(FAILURES, JITTER)
def test_retry_delay_grows_within_its_bounds(failures: int, jitter: float) -> None:
    delay = retry_delay(failures, jitter)
    assert MIN_DELAY_SECONDS <= delay <= retry_delay(failures + 1, jitter) <= MAX_DELAY_SECONDS
    assert math.isfinite(delay)


def test_retry_delay_doubles_with_a_quarter_of_jitter() -> None:
    assert [retry_delay(failures, 0) for failures in range(5)] == [1, 2, 4, 8, 16]
    assert [retry_delay(2, jitter) for jitter in (0, 0.5, 1)] == [4, 4.5, 5]


@pytest.mark.parametrize(("asked", "seconds"), [(None, 8), (0.5, 8), (100, 100)])
def test_wait_is_the_longer_of_backoff_and_request(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, seconds: float
) -> None:
    monkeypatch.setattr("kg_api.jobs.runner.random.random", lambda: 0.0)
    job = ClaimedJob("job-1", "test", "running", None, 7, "", 1, failures=0, waits=3)
    assert _wait_seconds(job, LlmUnavailable("503", retry_after_seconds=asked)) == seconds


@pytest.mark.parametrize(
    ("deaths", "permanent", "seconds"),
    [(1, False, 0), (2, False, 30), (3, False, 90), (9, False, 600), (1, True, 500)],
)
def test_failed_work_rests_longer_after_each_death(deaths: int, permanent: bool, seconds: int) -> None:
    def rests(age: float) -> bool:
        dead = {"failed": True, "permanent": permanent, "seconds": age}
        rows = [*[dead] * deaths, {**dead, "failed": False}, dead]
        graph = FakeGraph(lambda _, __: rows).graph
        return must_wait_to_restart(graph, "test", "notes", at_most=1000, after_fault=500)

    assert not rests(seconds)
    assert seconds == 0 or rests(seconds - 1)


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
        given = {**OWNER.parameters(), "lease_seconds": 0.2, "stuck_seconds": 60.0}
        assert given.items() <= parameters.items()
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


def test_lost_job_stops_its_heartbeats() -> None:
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


def test_stuck_job_fails_and_returning_handler_survives() -> None:
    left: list[int] = []
    graph = answering(lambda number: ALIVE if number < 3 else STUCK)
    with heartbeat(graph, leave=left.append) as beat:
        assert beat.lost.wait(10)
    time.sleep(2 * OWNER.lease_seconds)
    assert left == []
    assert graph.count(BEAT) == 3, "no sign of life is given any more"
    assert graph.ran[-1] == ("jobs/end_parts", {"job_id": "job-1"})


def test_handler_that_never_returns_ends_the_process() -> None:
    left: list[int] = []
    begun = time.monotonic()
    with heartbeat(answering(lambda _: STUCK), leave=left.append):
        wait_until(lambda: bool(left), 10)
        assert time.monotonic() - begun >= OWNER.lease_seconds
    assert left == [STUCK_EXIT_CODE]


def job_run(
    *, stopping: bool = False, lost: bool = False, others: bool = False, seconds: float = 0.0, **row: Any
) -> JobRun:
    """Return a run whose time slice ends after some seconds if other jobs wait."""
    stop, gone = threading.Event(), threading.Event()
    if stopping:
        stop.set()
    if lost:
        gone.set()
    job = ClaimedJob("job-1", "test", "running", "notes", 7, "cursor", 1, 0, 0)
    graph = FakeGraph(lambda _, __: [{"others": others, **row}]).graph
    turn = TimeSlice(graph, ["test"], seconds)
    return JobRun(graph, job, OWNER, stopping=stop, lost=gone, turn=turn)


def test_job_begins_anew_with_work_requested_meanwhile() -> None:
    row: dict[str, Any] = {
        "owned": True,
        "finished": False,
        "wanted": 2,
        "selection": "all",
        "forced_at": None,
    }
    run = job_run(**row)
    assert not run.finish()
    assert (run.cursor, run.job.wanted, run.job.selection) == ("", 2, "all")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"stopping": True}, Stopped),
        ({"lost": True, "others": True}, LeaseLost),
        ({"lost": True, "others": True, "stopping": True}, LeaseLost),  # not released during a stop
        ({"others": True}, Yielded),
    ],
)
def test_checkpoint_ends_a_job_for_its_reason(given: dict[str, bool], error: type[Exception]) -> None:
    with pytest.raises(error):
        job_run(**given).checkpoint()


def test_checkpoints_query_the_database_only_occasionally() -> None:
    graph = FakeGraph(lambda _, __: [{"others": False}])
    job = ClaimedJob("job-1", "test", "running", None, 7, "cursor", 1, 0, 0)
    turn = TimeSlice(graph.graph, ["test"], 0)
    assert not any(turn.is_over(job) for _ in range(1000))
    about = {"kinds": ["test"], "kind": "test", "ontology": "", "parent_id": None, "rank": 0, "over": True}
    assert graph.ran == [("jobs/others_wait", about)]


PATIENCE = 20.0


def test_remaining_requests_are_cancelled_with_the_caller() -> None:
    given_up, begun = threading.Event(), list[int]()

    def question(number: int) -> None:
        begun.append(number)
        if number == 1:
            given_up.set()
        wait(PATIENCE)

    with cancel_waits_on(given_up), pytest.raises(RetryCancelled):
        ask_at_once([partial(question, number) for number in range(40)], 2)
    assert set(begun) == {0, 1}


def test_first_error_cancels_unstarted_requests() -> None:
    begun, over = list[int](), threading.Event()
    timer = threading.Timer(2, over.set)  # long after the fault is seen
    timer.start()

    def question(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise LlmUnavailable("503")
        assert over.wait(PATIENCE)

    with pytest.raises(LlmUnavailable, match="503"):
        ask_at_once([partial(question, number) for number in range(40)], 2)
    assert set(begun) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("visible", "told"), [(None, "/srv/notes is not mounted"), (["notes"], OF_THE_MACHINE)]
)
def test_paths_of_the_machine_are_told_to_keys_of_all_ontologies(
    visible: list[str] | None, told: str
) -> None:
    failed = {"kind": "folder_sync", "state": "failed", "error": "/srv/notes is not mounted"}
    with limit_visible_ontologies(visible):
        assert build_job({**USUAL, **failed, "done_at_claim": 0}).error == told
