"""One process under supervision: it is started, looked after, and started again when it ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from kg_api.errors import ConfigurationError, KgError
from kg_api.managed import logfiles, processes, roles
from kg_api.managed.processes import ProcessId
from kg_api.managed.roles import Role

log = structlog.get_logger()

RoleState = Literal["waiting", "starting", "ready", "pausing", "failed"]
"""`failed`: a person has to change something; it is tried again all the same."""

BROKEN_GRACE_SECONDS = 5.0
"""A panicked Neo4j waits a minute for a disk that has no room, and ends as if killed all the same."""

LOGGED_CHARACTERS = 1000
"""Of the reason of a death, which may hold the end of a log."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When a dead process is started again: ever later, for ever."""

    first_pause: float = 1
    max_pause: float = 60
    healthy_after: float = 30
    """Seconds of life after which earlier deaths are forgotten."""

    watch_seconds: float = 1.0
    start_watch_seconds: float = 0.2
    """While something is still to start."""
    check_seconds: float = 5.0
    """How often a process that runs is asked whether it still does its work."""

    def pause(self, deaths: int) -> float:
        """Give the seconds to wait after so many deaths in a row: doubled each time, up to the limit."""
        return min(self.first_pause * 2.0 ** min(deaths - 1, 32), self.max_pause)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """What is known of a role, for those who read the state file."""

    state: RoleState
    pid: int | None
    deaths: int
    """In a row, without a longer life in between."""
    message: str
    """What it waits for, or why it died."""
    restarts: int = 0
    """How often it was started again since its supervisor was started."""
    next_start: float | None = None
    """When it is started again, seconds since 1970; None unless it waits for that."""
    last_exit: str | None = None
    """How it ended the last time, such as `SIGKILL` or `exit code 78`."""

    def next_start_seconds(self) -> float | None:
        """Give the seconds until it is started again; None unless it waits for that."""
        return None if self.next_start is None else round(max(self.next_start - time.time(), 0.0), 1)


class Watch:
    """One role under supervision."""

    def __init__(self, role: Role, policy: Policy, clock: Callable[[], float] = time.monotonic) -> None:
        self.role = role
        self.state: RoleState = "waiting"
        self.message = ""
        self.deaths = 0
        self.process: ProcessId | None = None
        self._policy = policy
        self._clock = clock
        self._not_before = self._started = self._checked = clock()
        self._starts = 0
        self._next_start: float | None = None
        self._last_exit: str | None = None

    def attend(self, working: set[str]) -> None:
        """Look after the role once; what goes wrong with that counts as a death and hinders no other role.

        Args:
            working: names of the roles that work.
        """
        try:
            self._attend(working)
        except Exception as error:  # noqa: BLE001 - one role's trouble, such as a full disk, must not end the watch
            self._handle_failure(error)

    def status(self) -> RoleStatus:
        return RoleStatus(
            self.state,
            self.process.pid if self.process else None,
            self.deaths,
            self.message,
            max(self._starts - 1, 0),
            self._next_start,
            self._last_exit,
        )

    def _handle_failure(self, error: Exception) -> None:
        told = str(error) if isinstance(error, KgError) else f"{type(error).__name__}: {error}"
        if self.process is None:
            self._handle_death(told, permanent=isinstance(error, ConfigurationError))
        else:
            log.error("process cannot be looked after", role=self.role.name, reason=told[:LOGGED_CHARACTERS])

    def _attend(self, working: set[str]) -> None:
        if self.process is not None and not self.process.alive():
            self._bury()
        elif self.process is not None:
            self._check()
        elif self._clock() < self._not_before:
            return
        elif missing := [name for name in self.role.after if name not in working]:
            self._become("waiting", f"{missing[0]} to work")
        elif reason := self.role.blocked():
            self._wait_for(reason)
        else:
            self._start()

    def _wait_for(self, reason: str) -> None:
        if self.state != "waiting":
            log.warning("process waits", role=self.role.name, reason=reason)
        self._become("waiting", reason)

    def _start(self) -> None:
        self.process = roles.start(self.role)
        self._started = self._clock()
        self._starts += 1
        log.info("process starts", role=self.role.name, pid=self.process.pid, restarts=self._starts - 1)
        self._become("starting", f"{self.role.name} to start")

    def _check(self) -> None:
        logfiles.limit(self.role.log)
        if self.state == "starting":
            reason = self.role.waiting_for()
            self._become("starting" if reason else "ready", reason or "")
            if reason is None:
                return
        elif self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        if self._clock() - self._checked > self._policy.check_seconds:
            self._checked = self._clock()
            self._end_when_broken()

    def _end_when_broken(self) -> None:
        """End a process that runs and cannot do its work until it is started again."""
        if (reason := self.role.broken()) is None:
            return
        log.error("process is broken and is ended", role=self.role.name, reason=reason)
        roles.stop(self.role, grace_seconds=BROKEN_GRACE_SECONDS)
        self.process = None
        self._last_exit = "ended by the supervisor"
        self._handle_death(f"{self.role.name} was ended to be started again: {reason}", permanent=False)

    def _bury(self) -> None:
        code = processes.exit_code(self.process) if self.process else None
        if self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        self.process = None
        self._last_exit = end_of(code)
        why = roles.describe_death(self.role, self._last_exit)
        permanent = code == ConfigurationError.exit_code
        if permanent and (complaint := roles.read_complaint(self.role)):
            why = f"{complaint}\n{self.role.name} ended with {self._last_exit}; its log is {self.role.log}"
        self._handle_death(why, permanent=permanent)

    def _handle_death(self, why: str, *, permanent: bool) -> None:
        self.deaths += 1
        pause = self._policy.max_pause if permanent else self._policy.pause(self.deaths)
        self._not_before = self._clock() + pause
        self._become("failed" if permanent else "pausing", why)
        self._next_start = time.time() + pause
        log.warning(
            "process died",
            role=self.role.name,
            last_exit=self._last_exit,
            deaths=self.deaths,
            next_start_seconds=pause,
            needs_a_person=permanent,
            reason=why[:LOGGED_CHARACTERS],
        )

    def _become(self, state: RoleState, message: str) -> None:
        if state == "ready":
            log.info("process works", role=self.role.name, pid=self.process and self.process.pid)
        self.state, self.message, self._next_start = state, message, None


def end_of(code: int | None) -> str:
    """Say how a process ended, by its exit code as Popen gives it."""
    if code is None:
        return "unknown: it was no child of this supervisor"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
