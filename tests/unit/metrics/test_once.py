"""Metrics are created once, whichever thread asks first."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from kg_api.metrics import once_per_process

RACE = """
import sys, threading
sys.setswitchinterval(1e-6)
from {module} import {name}
barrier, found = threading.Barrier(8), []

def ask():
    barrier.wait()
    found.append({name}())

threads = [threading.Thread(target=ask) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
assert len(found) == 8 and len(set(map(id, found))) == 1, found
"""
MAKERS = [("kg_api.metrics", "meters"), ("kg_api.providers.embedding", "metrics_of_process")]


def test_slow_maker_runs_once_for_two_threads() -> None:
    made: list[object] = []

    @once_per_process
    def make() -> object:
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    threads = [threading.Thread(target=make) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [make()] == made


@pytest.mark.parametrize(("module", "name"), MAKERS)
def test_metrics_of_new_process_survive_eight_threads(module: str, name: str) -> None:
    script = RACE.format(module=module, name=name)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
