"""A process stands still for a backup, and goes on whatever becomes of the one that makes it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import filelock
import pytest

from kg_api.errors import Unavailable
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId
from kg_api.transfer.backup import continue_forgotten, is_stopped, standing_still
from tests.process.managed.dummy import until

COUNTING = (
    "import sys, time\nfor n in range(10**9):\n open(sys.argv[1], 'w').write(str(n)); time.sleep(0.005)"
)
FREEZING = """
import sys, time
from kg_api.transfer.backup import standing_still
from kg_api.local.processes import identify
with standing_still(identify(int(sys.argv[1])), 60):
    print("still", flush=True)
    time.sleep(60)
"""


@contextmanager
def counting(folder: Path) -> Generator[tuple[ProcessId, Path]]:
    """A process that writes ever larger numbers into a file."""
    file = folder / "number"
    with subprocess.Popen([sys.executable, "-c", COUNTING, str(file)]) as child:
        try:
            until(file.exists, "the first number")
            process = processes.identify(child.pid)
            assert process is not None
            yield process, file
        finally:
            child.kill()


def goes_on(file: Path) -> bool:
    before = file.stat().st_mtime_ns
    time.sleep(0.1)
    return file.stat().st_mtime_ns != before


def test_it_stands_still_and_goes_on(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, file):
        with standing_still(process) as still_so:
            assert is_stopped(process)
            assert not goes_on(file)
            assert still_so()
        assert goes_on(file)


def test_it_goes_on_when_who_stopped_it_is_killed(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, file):
        command = [sys.executable, "-c", FREEZING, str(process.pid)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as freezer:
            assert freezer.stdout is not None
            assert freezer.stdout.readline() == "still\n"
            assert is_stopped(process)
            freezer.send_signal(signal.SIGKILL)
        until(lambda: goes_on(file), "the process to go on", 5)


def test_it_goes_on_after_the_limit_and_that_is_told(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, file), standing_still(process, 0.2) as still_so:
        until(lambda: goes_on(file), "the process to go on", 5)
        assert not still_so()


def test_one_that_somebody_else_lets_go_on_has_not_stood_still(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, _), standing_still(process) as still_so:
        process.signal(signal.SIGCONT)
        assert not still_so()


def test_one_that_is_gone_cannot_stand_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_api.transfer.backup.STOP_SECONDS", 0.1)
    with counting(tmp_path) as (process, _):
        process.kill()
        with pytest.raises(Unavailable, match="does not stop"), standing_still(process):
            pass


def test_one_that_stands_still_can_be_ended(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, _):
        process.signal(signal.SIGSTOP)
        begun = time.monotonic()
        process.end(grace_seconds=20)
        assert time.monotonic() - begun < 10
        assert not process.alive()


def test_a_forgotten_one_goes_on_but_not_while_a_backup_is_made(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg").create()
    with counting(tmp_path) as (process, file):
        process.signal(signal.SIGSTOP)
        until(lambda: is_stopped(process), "the process to stop")
        with filelock.FileLock(home.backup_lock):
            continue_forgotten(home, process)
            assert is_stopped(process)
        continue_forgotten(home, process)
        assert goes_on(file)
