"""Processes that outlive the one that started them, known by pid and start time together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from kg_api.managed import files

CLOCK_TOLERANCE = 2.0
"""Seconds. Start times follow the wall clock, which may be set; no pid is re-used that fast."""

_children: dict[int, subprocess.Popen[bytes]] = {}
_exit_codes: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, never mistaken for a later one with the same pid."""

    pid: int
    created: float
    """Start time, seconds since 1970."""

    def alive(self) -> bool:
        """Whether this very process runs; a zombie does not."""
        return self._process() is not None

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens when the process is gone."""
        if process := self._process():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; whether it came in time."""
        deadline = time.monotonic() + seconds
        while (alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return not alive

    def end(self, grace_seconds: float) -> None:
        """Ask it to stop, and kill it when it has not done so in time."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # one that stands still hears of its end only then
        if not self.wait(grace_seconds):
            self.kill()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(seconds=10)

    def listens(self, port: int) -> bool:
        """Whether this very process takes connections there; yes where the system does not tell."""
        try:
            found = self._process()
            held = found.net_connections("tcp") if found else []
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True
        return any(each.status == psutil.CONN_LISTEN and each.laddr[1:2] == (port,) for each in held)

    def _process(self) -> psutil.Process | None:
        _reap()
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created) < CLOCK_TOLERANCE
            return process if same and not _is_dead(process) else None
        except psutil.NoSuchProcess:
            return None


def identify(pid: int) -> ProcessId | None:
    """Give the identity of a running process; None when there is none."""
    try:
        found = ProcessId(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
    return found if found.alive() else None


def save(pid_file: Path, process: ProcessId) -> None:
    files.write_json(pid_file, asdict(process))


def load(pid_file: Path) -> ProcessId | None:
    """Give the live process that a pid file names; None when the file is missing, damaged or stale."""
    entry = files.read_json(pid_file)
    try:
        known = ProcessId(int(entry["pid"]), float(entry["created"]))
    except (KeyError, TypeError, ValueError):
        return None
    return known if known.alive() else None


def spawn(argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> ProcessId:
    """Start a process in a session of its own, its output appended to `log`.

    Raises:
        OSError: the program or the log cannot be opened.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    _exit_codes.pop(child.pid, None)
    return identify(child.pid) or ProcessId(child.pid, 0.0)  # 0.0: it is gone already


def exit_code(process: ProcessId) -> int | None:
    """Give the exit code of a child of this process that ended; None when it is not known."""
    _reap()
    return _exit_codes.get(process.pid)


def inherit(names: Container[str] | None = None) -> dict[str, str]:
    """Give a child our environment, or these names of it: handed on here, read in settings only."""
    return {name: value for name, value in os.environ.items() if names is None or name in names}


def find(words: Sequence[str], env: Mapping[str, str]) -> ProcessId | None:
    """Find the oldest process whose arguments include `words` and whose environment includes `env`."""
    matches = [
        ProcessId(process.pid, process.info["create_time"])
        for process in psutil.process_iter(["cmdline", "create_time"])
        if set(words) <= set(process.info["cmdline"] or ()) and _has_environment(process, env)
    ]
    alive = [match for match in matches if match.alive()]
    return min(alive, key=lambda match: match.created, default=None)


def _has_environment(process: psutil.Process, wanted: Mapping[str, str]) -> bool:
    if not wanted:
        return True
    try:
        return wanted.items() <= process.environ().items()
    except psutil.Error:
        return False


def _is_dead(process: psutil.Process) -> bool:
    """Whether only its entry is left. A JVM's first thread ends before those that still hold its files."""
    return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1


def _reap() -> None:
    """Take leave of own children that ended; they would stay as zombies."""
    for pid, child in list(_children.items()):
        code = child.poll()
        if code is not None:
            _exit_codes[pid] = code
            _children.pop(pid, None)
