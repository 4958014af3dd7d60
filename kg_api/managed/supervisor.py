"""Keeps the roles of a home running. When it dies they run on, and the next one takes them over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.errors import ConfigurationError, KgError
from kg_api.managed import logfiles, processes, roles
from kg_api.managed.processes import ProcessId
from kg_api.managed.roles import Role

RoleState = Literal["waiting", "starting", "ready", "pausing", "failed"]


@dataclass(frozen=True, slots=True)
class Policy:
    """When a dead process is started again, and when no more."""

    first_pause: float = 0.5
    max_pause: float = 30
    give_up_after: int = 4
    """Deaths in a row."""
    healthy_after: float = 10
    """Seconds of life after which earlier deaths are forgotten."""

    watch_seconds: float = 1.0
    start_watch_seconds: float = 0.2
    """While something is still to start."""

    def pause(self, deaths: int) -> float:
        """Give the seconds to wait after so many deaths in a row: doubled each time, up to the limit."""
        return min(self.first_pause * 2.0 ** min(deaths - 1, 32), self.max_pause)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """What is known of a role, for those who read the state file."""

    state: RoleState
    pid: int | None
    deaths: int
    message: str
    """What it waits for, or why it failed."""


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
        self._not_before = clock()
        self._started = clock()

    def attend(self, working: set[str]) -> None:
        """Look after the role once.

        Args:
            working: names of the roles that work.
        """
        if self.state == "failed":
            return
        if self.process is not None and not self.process.alive():
            self._bury()
        elif self.process is not None:
            self._check()
        elif missing := [name for name in self.role.after if name not in working]:
            self._become("waiting", f"{missing[0]} to work")
        elif self._clock() >= self._not_before:
            self._start()

    def status(self) -> RoleStatus:
        """Tell what is known."""
        return RoleStatus(self.state, self.process.pid if self.process else None, self.deaths, self.message)

    def _start(self) -> None:
        try:
            self.process = roles.start(self.role)
        except KgError as error:
            self._died(str(error), final=isinstance(error, ConfigurationError))
            return
        self._started = self._clock()
        self._become("starting", f"{self.role.name} to start")

    def _check(self) -> None:
        logfiles.limit(self.role.log)
        if self.state == "starting":
            reason = self.role.waiting_for()
            self._become("starting" if reason else "ready", reason or "")
        elif self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0

    def _bury(self) -> None:
        code = processes.exit_code(self.process) if self.process else None
        if self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        self.process = None
        self._died(roles.died(self.role), final=code == ConfigurationError.exit_code)

    def _died(self, why: str, *, final: bool) -> None:
        self.deaths += 1
        pause = self._policy.pause(self.deaths)
        self._not_before = self._clock() + pause
        gone = final or self.deaths >= self._policy.give_up_after
        self._become("failed" if gone else "pausing", why)

    def _become(self, state: RoleState, message: str) -> None:
        self.state, self.message = state, message


class Supervisor:
    """Starts the roles in their order and starts anew those that die."""

    def __init__(
        self,
        watched: Sequence[Role],
        publish: Callable[[dict[str, RoleStatus]], None],
        policy: Policy | None = None,
    ) -> None:
        self._policy = policy or Policy()
        self._watches = [Watch(role, self._policy) for role in watched]
        self._publish = publish
        self._published: dict[str, RoleStatus] | None = None

    def run(self, stop: threading.Event) -> None:
        """Watch until told to stop; the processes run on."""
        self._tell()
        while not stop.is_set():
            self.step()
            stop.wait(self._policy.watch_seconds if self._settled() else self._policy.start_watch_seconds)

    def step(self) -> None:
        """Look after every role once, and publish what changed."""
        for watch in self._watches:
            watch.attend({other.role.name for other in self._watches if other.state == "ready"})
        self._tell()

    def _tell(self) -> None:
        statuses = {watch.role.name: watch.status() for watch in self._watches}
        if statuses != self._published:
            self._publish(statuses)
            self._published = statuses

    def _settled(self) -> bool:
        return all(watch.state in ("ready", "failed") for watch in self._watches)
