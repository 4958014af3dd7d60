"""The managed Neo4j of a home while it is backed up or tried out: started for that where it does not run."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from kg_api.backup.manifest import BackupCounts
from kg_api.errors import ManagedProcessError
from kg_api.graph.database import Graph
from kg_api.graph.migrations import require_known_schema
from kg_api.graph.probe import DatabaseProbe
from kg_api.managed import roles
from kg_api.managed.home import Home
from kg_api.managed.neo4j.role import choose_bolt_port, neo4j_role
from kg_api.managed.processes import ProcessId
from kg_api.managed.roles import OnWait, Role
from kg_api.settings import Settings

USER = "neo4j"


@dataclass(frozen=True, slots=True)
class RunningDatabase:
    """A Neo4j that answers."""

    process: ProcessId
    graph: Graph

    def count(self) -> BackupCounts:
        return BackupCounts.model_validate(self.graph.read("backup/counts")[0])

    def schema_version(self) -> str:
        """Give the name of the last migration; empty where there is none.

        Raises:
            SchemaTooNew: a newer kg has written it.
            SchemaTooOld: a version from before the baseline has written it.
        """
        rows = require_known_schema(self.graph)
        return str(rows[-1]["name"]) if rows else ""


@contextlib.contextmanager
def running_database(
    home: Home, settings: Settings, on_wait: OnWait, needed_by_others: Callable[[], bool]
) -> Generator[RunningDatabase]:
    """Give the Neo4j of a home, started where it does not run, and stopped again then.

    Args:
        home: whose.
        settings: what it runs with.
        on_wait: told what is waited for.
        needed_by_others: asked at the end, whether one that was started here is to run on.

    Raises:
        ManagedProcessError: it does not start, or does not answer in time.
    """
    role = neo4j_role(home, settings)
    ours = roles.running(role) is None
    if ours:
        choose_bolt_port(home, settings)
    process = roles.start(role)
    process.signal(signal.SIGCONT)  # a backup that was killed may have left it standing
    try:
        with Graph(home.bolt_uri() or "", USER, home.password() or "") as graph:
            _wait(role, process, DatabaseProbe(graph), settings.neo4j.start_timeout_seconds, on_wait)
            yield RunningDatabase(process, graph)
    finally:
        if ours and not needed_by_others():
            on_wait("Neo4j to stop")
            roles.stop(role)


def _wait(role: Role, process: ProcessId, probe: DatabaseProbe, seconds: float, on_wait: OnWait) -> None:
    deadline = time.monotonic() + seconds
    roles.wait(role, process, timeout=seconds, on_wait=on_wait)
    while (trouble := probe.trouble()) is not None:
        if time.monotonic() > deadline or not process.alive():
            raise ManagedProcessError(f"Neo4j does not answer: {trouble}")
        on_wait(trouble)
        time.sleep(roles.POLL_SECONDS)
