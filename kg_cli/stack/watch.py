"""Watching over the processes of a home, and waiting until they work."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Generator
from types import FrameType

import filelock

from kg_api import __version__
from kg_api.errors import ConfigurationError, Conflict, ManagedProcessError
from kg_api.logs import configure_logs
from kg_api.managed import logfiles, roles, state
from kg_api.managed.home import Home
from kg_api.managed.roles import OnWait
from kg_api.managed.state import State
from kg_api.managed.supervisor import Supervisor
from kg_api.managed.watch import RoleStatus
from kg_api.settings import Settings
from kg_cli.stack import status
from kg_cli.stack.backups import backups_of
from kg_cli.stack.processes import ALREADY, neo4j_uri
from kg_cli.stack.roles import stack_roles, supervisor_role


def wait_until_ready(
    home: Home, settings: Settings, on_wait: OnWait, stop: threading.Event | None = None
) -> None:
    """Wait until every process works.

    Args:
        home: where they run.
        settings: what they run with.
        on_wait: called with what is being waited for.
        stop: ends the waiting early.

    Raises:
        ConfigurationError: one cannot start until a person changes something.
        ManagedProcessError: one was given up, with the end of its log; the supervisor died; the time is up.
    """
    deadline = time.monotonic() + 2 * settings.neo4j.start_timeout_seconds
    while (reason := waiting_for(home, settings)) and not (stop and stop.is_set()):
        _raise_when_hopeless(home, settings)
        on_wait(reason)
        if time.monotonic() > deadline:
            raise ManagedProcessError(f"kg is still waiting for {reason}; `kg doctor` may know why")
        time.sleep(roles.POLL_SECONDS)


def waiting_for(home: Home, settings: Settings) -> str | None:
    """Say what is being waited for, as `kg status` does; None when everything works.

    Jobs that wait are the worker's business.
    """
    if not home.state_file.exists():
        return "the supervisor to start"
    found = status.look(settings, with_jobs=False)
    return None if found.serves else found.waiting_for


def supervise(settings: Settings) -> None:
    """Watch over the stack of a home until SIGTERM; its processes run on.

    Raises:
        Conflict: another supervisor is at work.
    """
    home = Home(settings.home).create()
    with supervising(home, settings) as (supervisor, stop):
        supervisor.run(stop)


@contextlib.contextmanager
def supervising(home: Home, settings: Settings) -> Generator[tuple[Supervisor, threading.Event]]:
    """Be the supervisor of a home: give it and the event that SIGTERM and SIGINT set.

    Raises:
        Conflict: another supervisor is at work.
    """
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    configure_logs(settings.log)

    def publish(statuses: dict[str, RoleStatus]) -> None:
        address = neo4j_uri(home, settings) or ""  # the first start may have changed a port that was taken
        state.write(home, State(__version__, address, statuses))

    try:
        with filelock.FileLock(home.run / "supervisor.lock", timeout=0):
            besides = backups_of(home, settings)
            yield Supervisor(stack_roles(home, settings), publish, besides=besides), stop
    except filelock.Timeout as error:
        raise Conflict(ALREADY.format(home.path)) from error


def _raise_when_hopeless(home: Home, settings: Settings) -> None:
    if refused := state.read(home).refused():
        raise ConfigurationError(refused)
    if failed := state.read(home).failed():
        raise ManagedProcessError(failed)
    supervisor = supervisor_role(home, settings)
    if roles.running(supervisor) is None:
        end = "\n".join(logfiles.tail(supervisor.log, 6))
        raise ManagedProcessError(f"the supervisor ended. Its log {supervisor.log} ends with:\n{end}")
