"""The supervisor: it starts processes, looks after them, and starts them again when they end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import structlog

from kg_api.errors import ConfigurationError, KgError
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId, Role

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
        """Look after the role once; a failure of that counts as a death and hinders no other role."""
        try:
            self._attend(working)
        except Exception as error:  # noqa: BLE001 - one role's trouble, such as a full disk, must not end the watch
            told = str(error) if isinstance(error, KgError) else f"{type(error).__name__}: {error}"
            if self.process is None:
                self._handle_death(told, permanent=isinstance(error, ConfigurationError))
            else:
                reason = told[:LOGGED_CHARACTERS]
                log.error("process cannot be looked after", role=self.role.name, reason=reason)  # noqa: TRY400

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

    def _attend(self, working: set[str]) -> None:
        if self.process is not None:
            if self.process.alive():
                self._check(self.process)
            else:
                self._bury(self.process)
        elif self._clock() < self._not_before:
            return
        elif missing := [name for name in self.role.after if name not in working]:
            self._become("waiting", f"{missing[0]} to work")
        elif reason := self.role.blocked():
            if self.state != "waiting":
                log.warning("process waits", role=self.role.name, reason=reason)
            self._become("waiting", reason)
        else:
            self.process = processes.start(self.role)
            self._started = self._clock()
            self._starts += 1
            restarts = self._starts - 1
            log.info("process starts", role=self.role.name, pid=self.process.pid, restarts=restarts)
            self._become("starting", f"{self.role.name} to start")

    def _check(self, process: ProcessId) -> None:
        """Look whether a process that lives works by now, or is broken until it is started again."""
        processes.limit(self.role.log)
        if self.state == "starting":
            reason = self.role.waiting_for()
            if reason is None:
                log.info("process works", role=self.role.name, pid=process.pid)
                self._become("ready", "")
                return
            self._become("starting", reason)
        elif self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        if self._clock() - self._checked <= self._policy.check_seconds:
            return
        self._checked = self._clock()
        if (broken := self.role.broken()) is not None:
            log.error("process is broken and is ended", role=self.role.name, reason=broken)
            processes.stop(self.role, grace_seconds=BROKEN_GRACE_SECONDS)
            self.process = None
            self._last_exit = "ended by the supervisor"
            self._handle_death(f"{self.role.name} was ended to be started again: {broken}", permanent=False)

    def _bury(self, process: ProcessId) -> None:
        code = processes.exit_code(process)
        if self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        self.process = None
        self._last_exit = end_of(code)
        why = processes.describe_death(self.role, self._last_exit)
        permanent = code == ConfigurationError.exit_code
        if permanent and (complaint := processes.read_complaint(self.role)):
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


class Supervisor:
    """Keeps the roles of a home running. When it dies they run on, and the next one takes them over.

    Args:
        watched: in the order of their start.
        publish: gets what is known of them, whenever it changes.
        policy: when a dead process is started again.
        besides: called with the names of those that work, each time all were looked after.
    """

    def __init__(
        self,
        watched: Sequence[Role],
        publish: Callable[[dict[str, RoleStatus]], None],
        policy: Policy | None = None,
        besides: Callable[[set[str]], None] = lambda _: None,
    ) -> None:
        self._policy = policy or Policy()
        self._watches = [Watch(role, self._policy) for role in watched]
        self._publish = publish
        self._besides = besides
        self._published: dict[str, RoleStatus] | None = None

    def run(self, stop: threading.Event) -> None:
        """Watch until told to stop; the processes run on."""
        self._report()
        while not stop.is_set():
            self.step()
            settled = all(watch.state in ("ready", "failed") for watch in self._watches)
            stop.wait(self._policy.watch_seconds if settled else self._policy.start_watch_seconds)

    def step(self) -> None:
        """Look after every role once, and publish what changed."""
        for watch in self._watches:
            watch.attend(self._working())
        self._report()
        try:
            self._besides(self._working())
        except Exception:  # such as a full disk: it must not end the watch
            log.exception("what is done besides has failed")

    def _working(self) -> set[str]:
        return {watch.role.name for watch in self._watches if watch.state == "ready"}

    def _report(self) -> None:
        statuses = {watch.role.name: watch.status() for watch in self._watches}
        if statuses == self._published:
            return
        try:
            self._publish(statuses)
        except OSError as error:  # a full disk must not end the one who is there to heal
            log.warning("the state file cannot be written", reason=str(error))
        else:
            self._published = statuses


# The state file of a home: written by its supervisor, read by everyone.

MANY_DEATHS = 4
"""In a row, after which a person is told rather than kept waiting; the supervisor goes on all the same."""


@dataclass(frozen=True, slots=True)
class State:
    """What the supervisor last said. It may be dead since: look at the processes, too."""

    version: str = ""
    neo4j_uri: str = ""
    roles: dict[str, RoleStatus] = field(default_factory=dict[str, RoleStatus])

    def failed(self) -> str | None:
        """Say why a role does not come up by itself any more, as far as one can tell; None if all may."""
        for each in self.roles.values():
            if each.state == "failed" or (each.state == "pausing" and each.deaths >= MANY_DEATHS):
                return each.message
        return None

    def refused(self) -> str | None:
        """Say why a role cannot start until a person changes something; None if all can."""
        return next((each.message for each in self.roles.values() if each.state == "failed"), None)

    def waiting_for(self) -> str | None:
        """Say what the first role that does not work waits for; None when all work."""
        for name, status in self.roles.items():
            if trouble := trouble_of(name, status):
                return trouble
            if status.state != "ready":
                return status.message or f"{name} to start"
        return None if self.roles else "the supervisor to start"


def trouble_of(name: str, status: RoleStatus) -> str | None:
    """Say when a role that died is started again, and how often and how it died; None for others."""
    seconds = status.next_start_seconds()
    if seconds is None:
        return None
    last = f" ({status.last_exit})" if status.last_exit else ""
    person = "; a person has to change its settings" if status.state == "failed" else ""
    return f"{name} to start again in {seconds:.0f} s; it died {times(status.deaths)}{last}{person}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def write(home: Home, state: State) -> None:
    processes.rewrite_json(home.state_file, asdict(state))


def read(home: Home) -> State:
    """Give what was last published; an empty state when there is none."""
    entry = processes.read_json(home.state_file)
    try:
        roles = {name: RoleStatus(**status) for name, status in entry["roles"].items()}
        return State(entry["version"], entry["neo4j_uri"], roles)
    except (KeyError, TypeError, AttributeError):
        return State()


def forget(home: Home) -> None:
    home.state_file.unlink(missing_ok=True)
