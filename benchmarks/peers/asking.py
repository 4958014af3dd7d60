"""Searches by one client or several at once: how fast, how many, and whose processor time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from benchmarks.peers.job import Phase
from benchmarks.processes import Watched

Ask = Callable[[], object]


@dataclass(slots=True)
class _Client:
    taken: list[float] = field(default_factory=list[float])
    errors: Counter[str] = field(default_factory=Counter[str])


def ask(asks: Iterator[Ask], clients: int, seconds: float, watched: Watched) -> Phase:
    """Let clients ask one question after the other until time or questions are over."""
    lock, before = threading.Lock(), watched.cpu_seconds()
    begun = time.perf_counter()

    def one(_: int) -> _Client:
        client = _Client()
        while time.perf_counter() - begun < seconds:
            with lock:
                question = next(asks, None)
            if question is None:
                break
            _time(question, client)
        return client

    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(one, range(clients)))
    lasted = time.perf_counter() - begun
    return _phase(done, lasted, before, watched.cpu_seconds())


def _time(question: Ask, client: _Client) -> None:
    begun = time.perf_counter()
    try:
        question()
    except Exception as error:  # noqa: BLE001 - each library has its own; all are counted
        client.errors[type(error).__name__] += 1
    client.taken.append((time.perf_counter() - begun) * 1000)


def _phase(done: list[_Client], seconds: float, before: dict[str, float], after: dict[str, float]) -> Phase:
    taken = [each for client in done for each in client.taken]
    p50, p95 = (round(float(np.percentile(taken, share)), 2) for share in (50, 95))
    cpu = {role: round(1000 * (after[role] - before[role]) / len(taken), 2) for role in after}
    errors = sum((client.errors for client in done), Counter[str]())
    rate = round(len(taken) / seconds, 1)
    return Phase(len(done), len(taken), round(seconds, 2), rate, p50, p95, cpu, dict(errors))
