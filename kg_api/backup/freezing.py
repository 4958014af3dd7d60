"""Letting a process stand still for a moment, and go on whatever becomes of the one that asked.

A process that was stopped by SIGSTOP has its files as they would be after SIGKILL: what it has written is
there for all readers, and nothing more comes. Neo4j recovers from that, as it does from SIGKILL.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import filelock
import psutil

from kg_api.errors import Unavailable
from kg_api.managed.home import Home
from kg_api.managed.processes import ProcessId

LIMIT_SECONDS = 20.0
"""Longer nobody waits for a database; it goes on then, and what was copied is of no use."""
STOP_SECONDS = 5.0
_STOPPED = {"T", "t"}


@contextlib.contextmanager
def standing_still(process: ProcessId, limit_seconds: float = LIMIT_SECONDS) -> Generator[Callable[[], bool]]:
    """Let a process stand still.

    Gives a function that tells whether it has stood still ever since: whoever copies asks it at the end.

    Args:
        process: it goes on when the block ends, when this process dies, or after the limit.
        limit_seconds: how long it may take.

    Raises:
        Unavailable: it does not stop.
    """
    limit = threading.Timer(limit_seconds, process.signal, (signal.SIGCONT,))
    limit.daemon = True
    with _going_on_without_us(process):
        limit.start()
        try:
            process.signal(signal.SIGSTOP)
            _wait_until_stopped(process)
            yield lambda: is_stopped(process)
        finally:
            limit.cancel()
            process.signal(signal.SIGCONT)


def is_stopped(process: ProcessId) -> bool:
    """Whether a process lives and no thread of it runs."""
    if not process.alive():
        return False
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        if tasks.exists():
            return all(_state(task) in _STOPPED for task in tasks.iterdir())
        return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except (OSError, psutil.Error):
        return False


def continue_forgotten(home: Home, process: ProcessId | None) -> None:
    """Let a Neo4j go on that stands still while nobody makes a backup: whoever did was killed."""
    if process is None or not is_stopped(process):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(home.backup_lock, timeout=0):
        process.signal(signal.SIGCONT)


@contextlib.contextmanager
def _going_on_without_us(process: ProcessId) -> Generator[None]:
    """Let a shell wait for our end: it sees its input close, however we die, and lets the process go on."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", f"read -r end; kill -CONT {process.pid}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate()


def _wait_until_stopped(process: ProcessId) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while not is_stopped(process):
        if time.monotonic() > deadline:
            raise Unavailable(f"process {process.pid} does not stop; is it still there?")
        time.sleep(0.005)


def _state(task: Path) -> str:
    return (task / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
