"""What several ask for at once is done once, and who cannot wait is told at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kg_api.blobs.pages import SingleFlight
from kg_api.errors import TooBusy


class Work:
    """Waits until it may end, and counts how often it is begun."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun, self.end, self.error = 0, threading.Event(), error

    def __call__(self) -> int:
        self.begun += 1
        assert self.end.wait(20)
        if self.error:
            raise self.error
        return self.begun


def until(flight: SingleFlight[int], waiting: int, most: int) -> None:
    semaphore = vars(flight)["_waiting"]
    deadline = time.monotonic() + 20
    while vars(semaphore)["_value"] != most - waiting:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_twenty_at_once_are_one() -> None:
    flight, work = SingleFlight[int](30), Work()
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(flight.do, "a", work) for _ in range(20)]
        until(flight, 19, 30)
        work.end.set()
        assert [each.result() for each in asked] == [1] * 20
    assert work.begun == 1


def test_the_next_one_begins_anew_also_after_an_error() -> None:
    flight, failing = SingleFlight[int](2), Work(ValueError("broken"))
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(flight.do, "a", failing) for _ in range(2)]
        until(flight, 1, 2)
        failing.end.set()
        for each in asked:
            with pytest.raises(ValueError, match="broken"):
                each.result()
    assert (failing.begun, flight.do("a", lambda: 7), flight.do("a", lambda: 8)) == (1, 7, 8)


def test_others_do_not_wait_and_too_many_are_refused() -> None:
    flight, work = SingleFlight[int](1), Work()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(flight.do, "a", work) for _ in range(2)]
        until(flight, 1, 1)
        assert flight.do("b", lambda: 5) == 5
        with pytest.raises(TooBusy, match="wait for this page"):
            flight.do("a", work)
        work.end.set()
        assert [each.result() for each in asked] == [1, 1]
