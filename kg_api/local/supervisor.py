"""Supervisor that starts processes, monitors them and restarts them after they end."""

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
"""`failed` means that a person has to change something. The supervisor still retries."""

# A panicked Neo4j waits a minute for space on a full disk and then exits as if killed.
BROKEN_GRACE_SECONDS = 5.0

LOGGED_CHARACTERS = 1000  # limit of a reason, which may contain the end of a log


@dataclass(frozen=True, slots=True)
class Policy:
    """Delays before a restart. They double up to `max_pause`, without a limit on restarts."""

    first_pause: float = 1
    max_pause: float = 60
    healthy_after: float = 30  # seconds of uptime that reset the count of deaths

    watch_seconds: float = 1.0
    start_watch_seconds: float = 0.2  # interval while a role starts
    check_seconds: float = 5.0  # interval of `Role.broken`

    def pause(self, deaths: int) -> float:
        """Return the seconds to wait after consecutive deaths."""
        return min(self.first_pause * 2.0 ** min(deaths - 1, 32), self.max_pause)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    state: RoleState
    pid: int | None
    deaths: int  # consecutive, without a healthy uptime in between
    message: str  # reason for waiting, or cause of death
    restarts: int = 0  # since the start of the supervisor
    next_start: float | None = None
    """Time of the next start in seconds since 1970. None unless a restart is scheduled."""
    last_exit: str | None = None  # end of the last process, such as `SIGKILL` or `exit code 78`

    def next_start_seconds(self) -> float | None:
        """Return the seconds until the scheduled restart, or None."""
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
        """Check the role once. An error counts as a death and does not affect other roles."""
        try:
            self._attend(working)
        except Exception as error:  # noqa: BLE001 - one role must not end the supervisor
            message = str(error) if isinstance(error, KgError) else f"{type(error).__name__}: {error}"
            if self.process is None:
                self._handle_death(message, permanent=isinstance(error, ConfigurationError))
            else:
                reason = message[:LOGGED_CHARACTERS]
                log.error("process cannot be supervised", role=self.role.name, reason=reason)  # noqa: TRY400

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
            if self.process.is_alive():
                self._check(self.process)
            else:
                self._record_death(self.process)
        elif self._clock() < self._not_before:
            return
        elif missing := [name for name in self.role.after if name not in working]:
            self._change_state("waiting", f"{missing[0]} to work")
        elif reason := self.role.blocked():
            if self.state != "waiting":
                log.warning("process waits", role=self.role.name, reason=reason)
            self._change_state("waiting", reason)
        else:
            self.process = processes.start(self.role)
            self._started = self._clock()
            self._starts += 1
            restarts = self._starts - 1
            log.info("process starts", role=self.role.name, pid=self.process.pid, restarts=restarts)
            self._change_state("starting", f"{self.role.name} to start")

    def _check(self, process: ProcessId) -> None:
        """Check if a running process has become ready or needs a restart."""
        processes.limit(self.role.log)
        if self.state == "starting":
            reason = self.role.waiting_for()
            if reason is None:
                log.info("process works", role=self.role.name, pid=process.pid)
                self._change_state("ready", "")
                return
            self._change_state("starting", reason)
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

    def _record_death(self, process: ProcessId) -> None:
        code = processes.exit_code(process)
        if self._clock() - self._started > self._policy.healthy_after:
            self.deaths = 0
        self.process = None
        self._last_exit = describe_exit(code)
        why = processes.describe_death(self.role, self._last_exit)
        permanent = code == ConfigurationError.exit_code
        if permanent and (complaint := processes.read_complaint(self.role)):
            why = f"{complaint}\n{self.role.name} ended with {self._last_exit}. Its log is {self.role.log}"
        self._handle_death(why, permanent=permanent)

    def _handle_death(self, why: str, *, permanent: bool) -> None:
        self.deaths += 1
        pause = self._policy.max_pause if permanent else self._policy.pause(self.deaths)
        self._not_before = self._clock() + pause
        self._change_state("failed" if permanent else "pausing", why)
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

    def _change_state(self, state: RoleState, message: str) -> None:
        self.state, self.message, self._next_start = state, message, None


def describe_exit(code: int | None) -> str:
    """Describe a Popen exit code."""
    if code is None:
        return "unknown: the process is not a child of this supervisor"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


class Supervisor:
    """Keeps the roles of a home running. They survive its death, and the next supervisor adopts them.

    `watched` has the roles in start order. `publish` gets all statuses after each change.
    """

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
        """Supervise the roles until `stop` is set. The processes keep running."""
        self._report()
        while not stop.is_set():
            self.step()
            settled = all(watch.state in ("ready", "failed") for watch in self._watches)
            stop.wait(self._policy.watch_seconds if settled else self._policy.start_watch_seconds)

    def step(self) -> None:
        """Check every role once and publish changes."""
        for watch in self._watches:
            watch.attend({each.role.name for each in self._watches if each.state == "ready"})
        self._report()

    def _report(self) -> None:
        statuses = {watch.role.name: watch.status() for watch in self._watches}
        if statuses == self._published:
            return
        try:
            self._publish(statuses)
        except OSError as error:  # a full disk must not end the supervisor
            log.warning("the state file cannot be written", reason=str(error))
        else:
            self._published = statuses


# State file of a home, written by its supervisor

MANY_DEATHS = 4  # consecutive deaths after which commands report an error instead of waiting


@dataclass(frozen=True, slots=True)
class State:
    """Last published state. The supervisor may have died since, so check the processes."""

    version: str = ""
    neo4j_uri: str = ""
    roles: dict[str, RoleStatus] = field(default_factory=dict[str, RoleStatus])

    def describe_failure(self) -> str | None:
        """Return the message of a role that has failed or has died `MANY_DEATHS` times, or None."""
        for each in self.roles.values():
            if each.state == "failed" or (each.state == "pausing" and each.deaths >= MANY_DEATHS):
                return each.message
        return None

    def get_failure(self) -> str | None:
        """Return the message of a role that needs a change by a person, or None."""
        return next((each.message for each in self.roles.values() if each.state == "failed"), None)

    def waiting_for(self) -> str | None:
        """Return the reason why the first role that is not ready waits, or None if all are ready."""
        for name, status in self.roles.items():
            if trouble := describe_trouble(name, status):
                return trouble
            if status.state != "ready":
                return status.message or f"{name} to start"
        return None if self.roles else "the supervisor to start"


def describe_trouble(name: str, status: RoleStatus) -> str | None:
    """Return a message about the next start of a role that died, or None."""
    seconds = status.next_start_seconds()
    if seconds is None:
        return None
    last = f" ({status.last_exit})" if status.last_exit else ""
    person = ". A person has to change its settings" if status.state == "failed" else ""
    return f"{name} restarts in {seconds:.0f} s: it died {format_times(status.deaths)}{last}{person}"


def format_times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def write(home: Home, state: State) -> None:
    processes.rewrite_json(home.state_file, asdict(state))


def read(home: Home) -> State:
    """Return the last published state, or an empty one."""
    entry = processes.read_json(home.state_file)
    try:
        roles = {name: RoleStatus(**status) for name, status in entry["roles"].items()}
        return State(entry["version"], entry["neo4j_uri"], roles)
    except (KeyError, TypeError, AttributeError):
        return State()


def forget(home: Home) -> None:
    home.state_file.unlink(missing_ok=True)
