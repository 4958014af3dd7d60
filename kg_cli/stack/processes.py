"""Starting and stopping the processes of kg on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator

import filelock

from kg_api.backup.swapping import finish_swap
from kg_api.errors import Conflict, ManagedProcessError
from kg_api.managed import ports, processes, roles, state
from kg_api.managed.home import Home, near_host
from kg_api.managed.neo4j.role import choose_bolt_port
from kg_api.managed.roles import Role
from kg_api.settings import Settings
from kg_cli.stack import started_with
from kg_cli.stack.roles import api_role, stack_roles, supervisor_role

DEFAULT_API_PORT = 8420
LOCK_SECONDS = 60
ALREADY = "kg is already watched over in {}; stop that with `kg down`"


def neo4j_uri(home: Home, settings: Settings) -> str | None:
    """Give the address of the Neo4j in use; None when the managed one never ran."""
    return settings.neo4j.uri or home.bolt_uri()


def launch(home: Home, settings: Settings) -> None:
    """Choose the ports and see to it that a supervisor runs; one whose role keeps dying is replaced.

    Raises:
        ConfigurationError: a port that the settings ask for is taken.
        Conflict: kg runs here with another database.
        ManagedProcessError: another command is at it and does not end.
    """
    with changing(home):
        finish_swap(home)  # of a restore that was killed
        refuse_other_database(home, settings)
        supervisor = supervisor_role(home, settings)
        if state.read(home).failed():
            roles.stop(supervisor)
        if roles.running(supervisor) is None:
            _begin_anew(home, settings)
            choose_ports(home, settings)
        roles.start(supervisor_role(home, settings))  # anew: it hands the ports on


def take_over(home: Home, settings: Settings) -> None:
    """Make this process the supervisor that `kg down` and `kg status` see; choose the ports.

    Raises:
        ConfigurationError, Conflict, ManagedProcessError: as in `launch`; Conflict also when one is at work.
    """
    with changing(home):
        supervisor = supervisor_role(home, settings)
        if roles.running(supervisor):
            raise Conflict(ALREADY.format(home.path))
        finish_swap(home)
        _begin_anew(home, settings)
        choose_ports(home, settings)
        if me := processes.identify(os.getpid()):
            processes.save(supervisor.pid_file, me)


def _begin_anew(home: Home, settings: Settings) -> None:
    state.forget(home)
    if not any(map(roles.running, stack_roles(home, settings))):
        home.forget_metrics()
        started_with.remember(home, settings)


def leave(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> None:
    """End every process after this one took over, and forget that it did."""
    for role in reversed(stack_roles(home, settings)):
        _stop_one(role, on_stop)
    supervisor_role(home, settings).pid_file.unlink(missing_ok=True)
    state.forget(home)


def choose_ports(home: Home, settings: Settings) -> None:
    """Choose and remember the ports; processes that run keep theirs.

    Raises:
        ConfigurationError: a port that the settings ask for is taken.
    """
    if settings.neo4j.uri is None:
        choose_bolt_port(home, settings)
    if roles.running(api_role(home, settings)):
        return
    host = settings.api.host
    port = ports.choose_port(
        wanted=settings.api.port,
        remembered=home.api_port(),
        default=DEFAULT_API_PORT,
        variable="KG_API__PORT",
        host=host,
    )
    home.remember(api=port, api_host=near_host(host))


def refuse_other_database(home: Home, settings: Settings) -> None:
    """Refuse to mix two databases in one home.

    Raises:
        Conflict: what runs here was started with another Neo4j.
    """
    running_with = state.read(home).neo4j_uri
    wanted = neo4j_uri(home, settings)
    if running_with in ("", wanted) or roles.running(supervisor_role(home, settings)) is None:
        return
    raise Conflict(
        f"kg runs in {home.path} with the Neo4j at {running_with}, not {wanted}: run `kg down` first"
    )


def stop_all(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> list[str]:
    """End the supervisor, then worker, service and Neo4j, and wait for each.

    Returns:
        The names of those that ran.
    """
    ending = [supervisor_role(home, settings), *reversed(stack_roles(home, settings))]
    if not home.run.exists() and not any(processes.find(role.marks, role.marks_env) for role in ending):
        return []
    with changing(home):
        ended = [role.name for role in ending if _stop_one(role, on_stop)]
        state.forget(home)
    return ended


def _stop_one(role: Role, on_stop: Callable[[str], None]) -> bool:
    if roles.running(role):
        on_stop(role.name)
    return roles.stop(role)


@contextlib.contextmanager
def changing(home: Home) -> Generator[None]:
    """Let one command at a time start or stop things in a home."""
    try:
        with filelock.FileLock(home.create().run / "change.lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout as error:
        raise ManagedProcessError(f"another kg command is starting or stopping kg in {home.path}") from error
