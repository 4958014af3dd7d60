"""A role: one process of the stack that is started, found again, waited for and ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kg_api.errors import ManagedProcessError
from kg_api.managed import files, logfiles, processes
from kg_api.managed.processes import ProcessId

POLL_SECONDS = 0.1
COMPLAINT, COMPLAINT_LINES = "kg: ", 50
"""What the error of a command begins with, and how far from the end of a log it is looked for."""
OnWait = Callable[[str], None]
"""Called again and again with what is being waited for."""


def nothing() -> None:
    """Prepare nothing, and find nothing wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a process of the stack is and how one sees that it works."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """Its whole environment."""
    cwd: Path
    log: Path
    pid_file: Path
    waiting_for: Callable[[], str | None]
    """None once it works; else what it is being waited for, in words for a person."""
    marks: tuple[str, ...]
    """Arguments by which its process is recognised when the pid file is lost."""
    marks_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Entries of the environment that tell it from the same role of another home."""
    prepare: Callable[[], None] = nothing
    """Runs before each start."""
    after: tuple[str, ...] = ()
    """Roles that must work before this one is started."""
    more_logs: tuple[Path, ...] = ()
    """Where else the reason of a death may stand."""
    markers: tuple[str, ...] = ()
    """Words that mark the telling lines of its logs; without any, the last lines tell."""
    grace_seconds: float = 30
    blocked: Callable[[], str | None] = nothing
    """What it waits for before it can be started, in words for a person; None when it can."""
    broken: Callable[[], str | None] = nothing
    """Why a process that runs must be ended and started again; None while it does its work."""

    def last_words(self) -> str:
        """Give the lines of its logs that say why it died."""
        return logfiles.telling([*self.more_logs, self.log], self.markers)


def running(role: Role) -> ProcessId | None:
    """Give the role's live process, found by its pid file or, when that is lost, by its arguments."""
    known = processes.load(role.pid_file)
    if known is None and (known := processes.find(role.marks, role.marks_env)) and role.cwd.exists():
        _remember(role, known)
    return known


def start(role: Role) -> ProcessId:
    """Start the role's process, detached; one that runs already is adopted.

    Raises:
        ManagedProcessError: the program cannot be run.
        ConfigurationError: what it needs cannot be prepared.
    """
    if found := running(role):
        return found
    role.prepare()
    files.make_folder(role.log.parent)
    logfiles.limit(role.log)
    try:
        process = processes.spawn(role.argv, env=role.env, log=role.log, cwd=role.cwd)
    except OSError as error:
        raise ManagedProcessError(
            f"{role.name} cannot be started: {role.argv[0]}: {error.strerror}"
        ) from error
    _remember(role, process)
    return process


def _remember(role: Role, process: ProcessId) -> None:
    """Write the pid file; on a full disk there is none, and the process is found by its arguments."""
    with contextlib.suppress(OSError):
        processes.save(role.pid_file, process)


def wait(role: Role, process: ProcessId, *, timeout: float, on_wait: OnWait | None = None) -> None:
    """Wait until the role works.

    Raises:
        ManagedProcessError: its process died, with the last words of its logs, or the time is up.
    """
    deadline = time.monotonic() + timeout
    while (reason := role.waiting_for()) is not None:
        if on_wait:
            on_wait(reason)
        if not process.alive():
            raise ManagedProcessError(describe_death(role))
        if time.monotonic() > deadline:
            raise ManagedProcessError(
                f"{role.name} was not ready after {timeout:.0f} s (waiting for {reason}). Its log: {role.log}"
            )
        time.sleep(POLL_SECONDS)


def stop(role: Role, *, grace_seconds: float | None = None) -> bool:
    """End the role's process, gracefully if it can; whether one ran.

    Args:
        role: whose process.
        grace_seconds: how long it may take for its end, if not as long as usual.
    """
    process = running(role)
    if process is not None:
        process.end(role.grace_seconds if grace_seconds is None else grace_seconds)
    role.pid_file.unlink(missing_ok=True)
    return process is not None


def read_complaint(role: Role) -> str | None:
    """Return the error that a command of kg printed when it ended; None if its log has none."""
    lines = logfiles.tail(role.log, COMPLAINT_LINES)
    begins = [at for at, line in enumerate(lines) if line.startswith(COMPLAINT)]
    return "\n".join(lines[begins[-1] :]).removeprefix(COMPLAINT) if begins else None


def describe_death(role: Role, how: str = "") -> str:
    """Say that a role's process died, and why as far as its logs tell."""
    ended = f" ({how})" if how else ""
    return f"{role.name} died{ended}. Its log {role.log} ends with:\n{role.last_words() or '(nothing)'}"
