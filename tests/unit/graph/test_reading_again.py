"""Which reads are tried again, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity
from neo4j.exceptions import ClientError, Neo4jError, ResultFailedError, ServiceUnavailable, SessionExpired

from kg_api.errors import TooMuchAtOnce
from kg_api.graph import client

Clock = list[float]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time by which tries are counted, in seconds; waiting moves it on."""
    now = [0.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return now[0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(tenacity, "time", Time)
    monkeypatch.setattr(client.Graph._read.retry, "sleep", wait)  # pyright: ignore[reportFunctionMemberAccess]
    return now


class Reading(client.Graph):
    """A graph whose session ends with an error, after some seconds."""

    def __init__(self, clock: Clock, error: Exception, seconds: float) -> None:
        self._clock, self._error, self._seconds = clock, error, seconds
        self.tries = 0

    def _session(self, access: str) -> Any:  # noqa: ARG002 - as the graph calls it
        self.tries += 1
        self._clock[0] += self._seconds
        raise self._error


def tries(clock: Clock, error: Exception, seconds: float = 0.01) -> int:
    graph = Reading(clock, error, seconds)
    with pytest.raises(type(error)):
        graph._read(None, {})  # pyright: ignore[reportArgumentType]
    return graph.tries


def test_a_read_that_broke_off_late_is_tried_once_more(clock: Clock) -> None:
    assert tries(clock, SessionExpired("broken"), seconds=60) == 2


def test_a_server_that_is_away_is_asked_a_few_times_and_not_again_and_again(clock: Clock) -> None:
    assert 3 <= tries(clock, ServiceUnavailable("away")) <= 5
    assert client.RETRY_SECONDS <= clock[0] < 2 * client.RETRY_SECONDS


def test_what_is_wrong_stays_wrong(clock: Clock) -> None:
    assert tries(clock, ClientError("no such function")) == 1


@pytest.mark.parametrize(
    ("cause", "expected"),
    [("Neo.TransientError.Transaction.DeadlockDetected", 5), ("Neo.ClientError.X.Y", 1)],
)
def test_transaction_repeats_after_a_masked_deadlock(
    cause: str, expected: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver raises ResultFailedError in place of a deadlock that failed a result in the middle."""
    monkeypatch.setattr(client.Graph._commit.retry, "sleep", lambda _: None)  # pyright: ignore[reportFunctionMemberAccess]
    masked = ResultFailedError(None, "The result has failed.")  # pyright: ignore[reportArgumentType]
    masked.__cause__ = Neo4jError._hydrate_neo4j(code=cause, message="deadlock")
    graph = Reading(clock, masked, 0.01)
    with pytest.raises(ResultFailedError):
        graph._commit(lambda _: None)
    assert graph.tries == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Neo.ClientError.Transaction.TransactionTimedOut", TooMuchAtOnce),
        ("Neo.ClientError.X.Y", ClientError),
    ],
)
def test_masked_error_keeps_its_own_class(code: str, expected: type[Exception], clock: Clock) -> None:
    masked = ResultFailedError(None, "The result has failed.")  # pyright: ignore[reportArgumentType]
    masked.__cause__ = Neo4jError._hydrate_neo4j(code=code, message="wrong")
    graph = Reading(clock, masked, 0.01)
    graph._uri = "bolt://127.0.0.1"
    with pytest.raises(expected), graph._translated():
        raise masked
