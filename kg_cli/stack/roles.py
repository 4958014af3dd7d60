"""Processes of a home (Neo4j, service, worker, supervisor), and how `kg` starts and stops them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from kg_api.errors import Conflict, ManagedProcessError
from kg_api.local import processes, supervisor
from kg_api.local.neo4j import build_neo4j_role, choose_bolt_port
from kg_api.local.processes import Home, Role, choose_local_host
from kg_api.settings import Settings

if TYPE_CHECKING:
    from kg_api.graph.client import Graph
    from kg_api.graph.schema import DatabaseProbe

WORKER_PROVES_ITSELF_SECONDS = 2.0  # a worker has no port, so this uptime counts as ready
STOP_SECONDS = 90
DEFAULT_API_PORT = 8420
LOCK_SECONDS = 60
ALREADY = "another supervisor of kg runs in {}. Stop it with `kg down`"


def build_roles(home: Home, settings: Settings) -> list[Role]:
    """Return the roles in start order, without Neo4j if the settings name an external one."""

    def api_waits() -> str | None:
        if (url := home.build_api_url()) is None:
            return "the service to choose a port"
        answer = processes.ask_ready(url, home=home)
        return None if answer.reached else answer.waiting_for

    def worker_waits() -> str | None:
        process = processes.load(home.get_pid_file("worker"))
        works = process is not None and time.time() - process.created > WORKER_PROVES_ITSELF_SECONDS
        return None if works else "the worker to start"

    managed = [_build_neo4j_role(home, settings)] if settings.neo4j.uri is None else []
    after = tuple(each.name for each in managed)
    api = _own_role(home, settings, "api", ("serve", "--managed"), api_waits)
    worker = _own_role(home, settings, "worker", ("worker",), worker_waits)
    return [*managed, replace(api, after=after), replace(worker, after=after)]


def build_supervisor_role(home: Home, settings: Settings) -> Role:
    role = _own_role(home, settings, "supervisor", ("supervise",), lambda: None)
    return replace(role, grace_seconds=STOP_SECONDS)


def _own_role(
    home: Home, settings: Settings, name: str, command: tuple[str, ...], waiting_for: Callable[[], str | None]
) -> Role:
    return Role(
        name=name,
        argv=(sys.executable, "-m", "kg_cli.main", *command),
        env=own_environment(home, settings),
        cwd=home.path,
        log=home.log_file(name),
        pid_file=home.get_pid_file(name),
        waiting_for=waiting_for,
    )


def _build_neo4j_role(home: Home, settings: Settings) -> Role:
    """Return the managed Neo4j, which is ready if it answers a query, and broken if it has panicked."""
    neo4j = build_neo4j_role(home, settings)

    @cache  # per URI, because Neo4j changes its port if another program has taken it
    def open_probe(_uri: str | None) -> DatabaseProbe:
        return _probe(home, settings)  # only the supervisor loads the driver

    def probe() -> DatabaseProbe:
        return open_probe(home.build_bolt_uri())

    def broken() -> str | None:
        # a Neo4j that does not answer yet has not panicked, and a query would block for seconds
        return None if neo4j.waiting_for() else probe().panic()

    return replace(neo4j, waiting_for=lambda: neo4j.waiting_for() or probe().trouble(), broken=broken)


def find_database_trouble(home: Home, settings: Settings) -> str | None:
    """Query the database in use. Return the reason if it does not answer, or None."""
    from kg_api.graph.schema import DatabaseProbe

    if settings.neo4j.uri is None and (reason := build_neo4j_role(home, settings).waiting_for()):
        return reason
    with _open_graph(home, settings) as graph:
        return DatabaseProbe(graph).trouble()


def _probe(home: Home, settings: Settings) -> DatabaseProbe:
    from kg_api.graph.schema import DatabaseProbe

    return DatabaseProbe(_open_graph(home, settings))


def _open_graph(home: Home, settings: Settings) -> Graph:
    from kg_api.graph.client import Graph

    own, key = settings.neo4j, settings.neo4j.password
    if own.uri is not None and key is not None:
        return Graph(own.uri, own.user, key.get_secret_value(), own.database)
    return Graph(home.build_bolt_uri() or "", "neo4j", home.read_password() or "")


def own_environment(home: Home, settings: Settings) -> dict[str, str]:
    """Return the complete environment of a kg process: the current one with absolute paths."""
    chosen: dict[str, Path | None] = {
        "KG_HOME": home.path,
        "PROMETHEUS_MULTIPROC_DIR": home.metrics,  # the service's /metrics include the worker
        "KG_CACHE": settings.cache,
        "KG_BACKUP__FOLDER": settings.backup.folder,
        "KG_EMBEDDING__MODEL_FOLDER": settings.embedding.model_folder,
    }
    return processes.inherit() | {name: str(path.absolute()) for name, path in chosen.items() if path}


def get_neo4j_uri(home: Home, settings: Settings) -> str | None:
    """Return the URI of the Neo4j in use, or None before the first start of the managed Neo4j."""
    return settings.neo4j.uri or home.build_bolt_uri()


# Start and stop


def launch(home: Home, settings: Settings) -> None:
    """Choose the ports and start a supervisor. Replace a supervisor if a role keeps dying."""
    with changing(home):
        _finish_restore(home)
        require_same_database(home, settings)
        watcher = build_supervisor_role(home, settings)
        if supervisor.read(home).describe_failure():
            processes.stop(watcher)
        if processes.find_running(watcher) is None:
            _begin(home, settings)
        processes.start(build_supervisor_role(home, settings))  # created again with the chosen ports


def register_supervisor(home: Home, settings: Settings) -> None:
    """Register this process as the supervisor for `kg down` and `kg status`, and choose the ports."""
    with changing(home):
        watcher = build_supervisor_role(home, settings)
        if processes.find_running(watcher):
            raise Conflict(ALREADY.format(home.path))
        _finish_restore(home)
        _begin(home, settings)
        if me := processes.identify(os.getpid()):
            processes.save(watcher.pid_file, me)


def _finish_restore(home: Home) -> None:
    """Finish an interrupted restore. Only this imports the driver of Neo4j, which takes a second of CPU."""
    if home.restore_file.exists():
        from kg_api.transfer.backup import finish_swap

        finish_swap(home)


def _begin(home: Home, settings: Settings) -> None:
    supervisor.forget(home)
    if not any(map(processes.find_running, build_roles(home, settings))):
        for file in home.metrics.glob("*.db"):  # counters of an earlier stack
            file.unlink(missing_ok=True)
    choose_ports(home, settings)


def leave(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> None:
    """Stop every process after `register_supervisor`, and remove the records of the supervisor."""
    for role in reversed(build_roles(home, settings)):
        _stop_one(role, on_stop)
    build_supervisor_role(home, settings).pid_file.unlink(missing_ok=True)
    supervisor.forget(home)


def stop_all(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> list[str]:
    """Stop the supervisor, the worker, the service and Neo4j, wait for each, and return the stopped ones."""
    if not home.run.exists():
        return []
    # Also its own Neo4j, if the settings name an external one since kg started
    own = settings.model_copy(update={"neo4j": settings.neo4j.model_copy(update={"uri": None})})
    ending = [build_supervisor_role(home, settings), *reversed(build_roles(home, own))]
    with changing(home):
        ended = [role.name for role in ending if _stop_one(role, on_stop)]
        supervisor.forget(home)
    return ended


def _stop_one(role: Role, on_stop: Callable[[str], None]) -> bool:
    if processes.find_running(role):
        on_stop(role.name)
    return processes.stop(role)


def choose_ports(home: Home, settings: Settings) -> None:
    """Choose and store the ports. Running processes keep their ports."""
    if settings.neo4j.uri is None:
        choose_bolt_port(home, settings)
    if processes.load(home.get_pid_file("api")):
        return
    host = settings.api.host
    port = processes.choose_port(
        wanted=settings.api.port,
        remembered=home.read_api_port(),
        default=DEFAULT_API_PORT,
        variable="KG_API__PORT",
        host=host,
    )
    home.remember(api=port, api_host=choose_local_host(host))


def require_same_database(home: Home, settings: Settings) -> None:
    """Raise Conflict if a process of this home runs with another database."""
    running_with, wanted = supervisor.read(home).neo4j_uri, get_neo4j_uri(home, settings)
    roles = (
        build_supervisor_role(home, settings),
        *build_roles(home, settings),
    )  # they survive their supervisor
    if running_with not in ("", wanted) and any(map(processes.find_running, roles)):
        raise Conflict(
            f"kg runs in {home.path} with the Neo4j at {running_with}, not {wanted}: run `kg down` first"
        )


@contextlib.contextmanager
def changing(home: Home) -> Generator[None]:
    """Hold the lock for commands that start or stop processes of a home."""
    try:
        with filelock.FileLock(home.create().run / "change.lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout as error:
        raise ManagedProcessError(f"another kg command is starting or stopping kg in {home.path}") from error
