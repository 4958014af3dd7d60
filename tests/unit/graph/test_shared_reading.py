"""Many who ask at once share a reading, and what it fails of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.search import SharedReading

PATIENCE = 20.0
SETTLED = 0.1
"""Until threads that run wait for the reading."""
MANY = 16


class Database:
    """Gives 1, 2, 3, ... when it is let; counts how often it is asked."""

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


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def ask(reading: SharedReading[int], *, anew: bool = False) -> Callable[[], int]:
    return lambda: reading.read(anew=anew)


def test_who_asks_meanwhile_shares_the_reading_that_is_under_way() -> None:
    database = Database()
    reading = SharedReading(database)
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(reading.read)]
        until(lambda: database.begun == 1)
        asked += [pool.submit(reading.read) for _ in range(MANY - 1)]
        until(lambda: all(each.running() for each in asked))
        time.sleep(SETTLED)
        database.let.release()
        assert [each.result() for each in asked] == [1] * MANY
    database.let.release()
    assert reading.read() == 2


def test_who_wants_it_anew_shares_the_next_one() -> None:
    database = Database()
    reading = SharedReading(database)
    with ThreadPoolExecutor(MANY) as pool:
        first = pool.submit(reading.read)
        until(lambda: database.begun == 1)
        asked = [pool.submit(ask(reading, anew=True)) for _ in range(MANY - 1)]
        until(lambda: all(each.running() for each in asked))
        time.sleep(SETTLED)
        database.let.release()
        until(lambda: database.begun == 2)
        database.let.release()
        assert first.result() == 1
        assert [each.result() for each in asked] == [2] * (MANY - 1)
    assert database.begun == 2


def test_a_database_that_is_away_is_tried_once_for_all_that_wait() -> None:
    database = Database()
    database.away = True
    reading = SharedReading(database)
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(reading.read)]
        until(lambda: database.begun == 1)
        asked += [pool.submit(ask(reading, anew=bool(number % 2))) for number in range(MANY - 1)]
        until(lambda: all(each.running() for each in asked))
        time.sleep(SETTLED)
        database.let.release()
        for each in asked:
            with pytest.raises(DatabaseUnavailable):
                each.result()
    assert database.begun == 1
    database.away = False
    database.let.release()
    assert reading.read(anew=True) == 2
