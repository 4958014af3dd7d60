import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tenacity
from neo4j.exceptions import ClientError, Neo4jError, ResultFailedError, ServiceUnavailable, SessionExpired

from kg_api.errors import DatabasePanicked, DatabaseUnavailable, StorageFull, TooMuchAtOnce
from kg_api.graph import client
from kg_api.graph.client import Graph, classify_fault
from kg_api.graph.search import CachedRead
from tests.support.running import wait_until

NEEDS_RESTART = "The database has encountered a critical error, and needs to be restarted. Please see logs."


def told(code: str, message: str) -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message=message)


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        ("Neo.DatabaseError.Transaction.TransactionStartFailed", NEEDS_RESTART, DatabasePanicked),
        ("Neo.DatabaseError.Transaction.TransactionLogError", "Could not append", DatabaseUnavailable),
        ("Neo.DatabaseError.General.UnknownError", "No space left on device", StorageFull),
        ("Neo.ClientError.Security.AuthenticationRateLimit", "too many times", DatabaseUnavailable),
    ],
)
def test_server_errors_are_classified_as_temporary(
    code: str, message: str, expected: type[DatabaseUnavailable]
) -> None:
    assert type(classify_fault(told(code, message), "bolt://x")) is expected


@pytest.mark.parametrize(
    "code",
    [
        "Neo.ClientError.Statement.SyntaxError",
        "Neo.DatabaseError.Statement.ExecutionFailed",
        "Neo.ClientError.Security.Forbidden",
    ],
)
def test_a_wrong_statement_is_not_waited_for(code: str) -> None:
    assert classify_fault(told(code, "wrong"), "bolt://x") is None


Clock = list[float]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    now = [0.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return now[0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(tenacity, "time", Time)
    monkeypatch.setattr(client.Graph._read_again.retry, "sleep", wait)  # pyright: ignore[reportFunctionMemberAccess]
    return now


class Reading(client.Graph):
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


def test_late_interrupted_read_is_retried_once(clock: Clock) -> None:
    assert tries(clock, SessionExpired("broken"), seconds=60) == 2


def test_unreachable_server_is_retried_for_limited_time(clock: Clock) -> None:
    assert 3 <= tries(clock, ServiceUnavailable("away")) <= 5
    assert client.RETRY_SECONDS <= clock[0] < 2 * client.RETRY_SECONDS


def test_permanent_error_is_not_retried(clock: Clock) -> None:
    assert tries(clock, ClientError("no such function")) == 1


def mask(code: str) -> ResultFailedError:
    masked = ResultFailedError(None, "The result has failed.")  # pyright: ignore[reportArgumentType]
    masked.__cause__ = told(code, "wrong")
    return masked


@pytest.mark.parametrize(
    ("cause", "expected"),
    [("Neo.TransientError.Transaction.DeadlockDetected", 5), ("Neo.ClientError.X.Y", 1)],
)
def test_transaction_repeats_after_a_masked_deadlock(
    cause: str, expected: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a deadlock occurs while you read a result, the driver raises ResultFailedError."""
    monkeypatch.setattr(client.Graph._commit.retry, "sleep", lambda _: None)  # pyright: ignore[reportFunctionMemberAccess]
    graph = Reading(clock, mask(cause), 0.01)
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
    masked = mask(code)
    graph = Reading(clock, masked, 0.01)
    graph._uri = "bolt://127.0.0.1"
    with pytest.raises(expected), graph._translate_errors():
        raise masked


PATIENCE = 20.0
SETTLED = 0.1
"""Wait until the threads are running."""
MANY = 16


class Database:
    """Return 1, 2, 3. You can make this block, and see how often it was read."""

    def __init__(self) -> None:
        self.begun = 0
        self.away = False
        self.let = threading.Semaphore(0)

    def __call__(self) -> int:
        self.begun += 1
        mine = self.begun
        assert self.let.acquire(timeout=PATIENCE)
        if self.away:
            raise DatabaseUnavailable("Neo4j does not answer")
        return mine


def test_concurrent_readers_share_the_running_read() -> None:
    database = Database()
    reading = CachedRead(database)
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(reading.read)]
        wait_until(lambda: database.begun == 1, PATIENCE)
        asked += [pool.submit(reading.read) for _ in range(MANY - 1)]
        wait_until(lambda: all(each.running() for each in asked), PATIENCE)
        time.sleep(SETTLED)
        database.let.release()
        assert [each.result() for each in asked] == [1] * MANY
    database.let.release()
    assert reading.read() == 2


def test_unavailable_database_is_queried_once_for_all_waiters() -> None:
    database = Database()
    database.away = True
    reading = CachedRead(database)
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(reading.read)]
        wait_until(lambda: database.begun == 1, PATIENCE)
        asked += [pool.submit(reading.read, anew=bool(number % 2)) for number in range(MANY - 1)]
        wait_until(lambda: all(each.running() for each in asked), PATIENCE)
        time.sleep(SETTLED)
        database.let.release()
        for each in asked:
            with pytest.raises(DatabaseUnavailable):
                each.result()
    assert database.begun == 1
    database.away = False
    database.let.release()
    assert reading.read(anew=True) == 2


def test_full_disk_is_the_reason_of_an_unavailable_database(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([False, True])

    def require_room() -> None:
        if next(found):
            raise StorageFull("the disk is full")

    def commit(*_: object) -> None:
        raise DatabaseUnavailable("no answer")

    monkeypatch.setattr(Graph, "_commit", commit)
    with (
        Graph("bolt://127.0.0.1:9", "neo4j", "", require_room=require_room) as graph,
        pytest.raises(StorageFull),
    ):
        graph.transaction(lambda _: None)
