"""The roles of the stack: Neo4j, the service, the worker, and the supervisor that watches them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.backup.freezing import continue_forgotten
from kg_api.managed import probes, processes, roles
from kg_api.managed.home import Home
from kg_api.managed.neo4j.role import neo4j_role
from kg_api.managed.roles import Role
from kg_api.settings import Settings

if TYPE_CHECKING:
    from kg_api.graph.database import Graph
    from kg_api.graph.probe import DatabaseProbe

SUPERVISOR = "supervisor"
WORKER_PROVES_ITSELF_SECONDS = 2.0
"""A worker answers to nobody: one that has lived so long is taken to work."""

STOP_SECONDS = 90


def stack_roles(home: Home, settings: Settings) -> list[Role]:
    """Give the roles in the order of their start; without a managed Neo4j when the settings name another."""
    if settings.neo4j.uri is not None:
        return [api_role(home, settings), _worker_role(home, settings)]
    neo4j = _with_probe(neo4j_role(home, settings), home, settings)
    return [neo4j, api_role(home, settings, neo4j.name), _worker_role(home, settings, neo4j.name)]


def _with_probe(neo4j: Role, home: Home, settings: Settings) -> Role:
    """Let the managed Neo4j count as ready when it answers a query, and as broken when it has panicked."""
    probe_at = cache(partial(_probe, home, settings))  # the driver is loaded by the supervisor alone

    def probe() -> DatabaseProbe:
        return probe_at(home.bolt_uri())  # it moves to another port where its own is taken

    def reason() -> str | None:
        return neo4j.waiting_for() or probe().trouble()

    def broken() -> str | None:
        continue_forgotten(home, roles.running(neo4j))
        # what does not answer yet has not panicked, and a query would hold up the supervisor for seconds
        return None if neo4j.waiting_for() else probe().panic()

    return replace(neo4j, waiting_for=reason, broken=broken)


def database_trouble(home: Home, settings: Settings) -> str | None:
    """Ask the database in use by a query; say why it does not answer, None when it does."""
    from kg_api.graph.probe import DatabaseProbe

    reason = neo4j_role(home, settings).waiting_for() if settings.neo4j.uri is None else None
    if reason is not None:
        return reason
    with _graph(home, settings) as graph:
        return DatabaseProbe(graph).trouble()


def _probe(home: Home, settings: Settings, _at: str | None) -> DatabaseProbe:
    from kg_api.graph.probe import DatabaseProbe

    return DatabaseProbe(_graph(home, settings))


def _graph(home: Home, settings: Settings) -> Graph:
    from kg_api.graph.database import Graph

    own, key = settings.neo4j, settings.neo4j.password
    if own.uri is not None and key is not None:
        return Graph(own.uri, own.user, key.get_secret_value(), own.database)
    return Graph(home.bolt_uri() or "", "neo4j", home.password() or "")


def supervisor_role(home: Home, settings: Settings) -> Role:
    """Give the process that watches the others."""
    return _own_role(home, settings, SUPERVISOR, "supervise", lambda: None, grace_seconds=STOP_SECONDS)


def api_role(home: Home, settings: Settings, *after: str) -> Role:
    """Give the REST service, started after the roles named."""

    def reason() -> str | None:
        if (url := home.api_url()) is None:
            return "the service to choose a port"
        answer = probes.ask_ready(url, home=home)
        return None if answer.reached else answer.waiting_for

    return _own_role(home, settings, "api", "serve", reason, after=after, options=("--managed",))


def _worker_role(home: Home, settings: Settings, *after: str) -> Role:
    def reason() -> str | None:
        process = processes.load(home.pid_file("worker"))
        works = process is not None and time.time() - process.created > WORKER_PROVES_ITSELF_SECONDS
        return None if works else "the worker to start"

    return _own_role(home, settings, "worker", "worker", reason, after=after)


def _own_role(
    home: Home,
    settings: Settings,
    name: str,
    command: str,
    reason: Callable[[], str | None],
    *,
    after: tuple[str, ...] = (),
    grace_seconds: float = 30,
    options: tuple[str, ...] = (),
) -> Role:
    return Role(
        name=name,
        argv=(sys.executable, "-m", "kg_cli.main", command, *options),
        env=own_environment(home, settings),
        cwd=home.path,
        log=home.log_file(name),
        pid_file=home.pid_file(name),
        waiting_for=reason,
        marks=("kg_cli.main", command),
        marks_env={"KG_HOME": str(home.path)},
        after=after,
        grace_seconds=grace_seconds,
    )


def own_environment(home: Home, settings: Settings) -> dict[str, str]:
    """Give a process of kg its whole environment: ours, what was chosen, and paths made absolute."""
    chosen: dict[str, Path | None] = {
        "KG_HOME": home.path,
        "PROMETHEUS_MULTIPROC_DIR": home.metrics,  # /metrics of the service tells of the worker too
        "KG_CACHE": settings.cache.absolute(),
        "KG_BACKUP__FOLDER": settings.backup.folder and settings.backup.folder.absolute(),
        "KG_EMBEDDING__MODEL_FOLDER": settings.embedding.model_folder
        and settings.embedding.model_folder.absolute(),
    }
    return processes.inherit() | {name: str(value) for name, value in chosen.items() if value is not None}
