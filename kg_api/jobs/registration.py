"""A worker shows that it is there, and tells of jobs that it cannot do."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence

import structlog

from kg_api.embed.remote.traits import list_learned
from kg_api.errors import DatabaseUnavailable
from kg_api.graph.database import Graph
from kg_api.graph.jobs import workers

log = structlog.get_logger()


class WorkerRegistration:
    """What this worker says of itself every few seconds."""

    def __init__(self, graph: Graph, name: str, kinds: Sequence[str]) -> None:
        self._graph = graph
        self._name = name
        self._kinds = kinds
        self._told = set[str]()
        self._ended = False
        self._telling = threading.Lock()

    def report(self) -> None:
        """Give a sign of life; say once of each kind of job that waits for a worker of another version."""
        try:
            with self._telling:
                if not self._ended:
                    host, notes = socket.gethostname(), list_learned()
                    workers.sign_of_life(self._graph, self._name, host=host, pid=os.getpid(), notes=notes)
            self._report_unknown()
        except DatabaseUnavailable as error:
            log.warning("no sign of life", reason=str(error))

    def end(self) -> None:
        """Take the name off the list of workers."""
        with self._telling:  # so that a sign that is under way does not put it there again
            self._ended = True
        try:
            workers.forget_worker(self._graph, self._name)
        except DatabaseUnavailable as error:
            log.warning("no farewell", reason=str(error))

    def _report_unknown(self) -> None:
        waiting = workers.unknown_kinds(self._graph, self._kinds)
        for kind in sorted(waiting.keys() - self._told):
            self._told.add(kind)
            log.warning(
                "unknown kind of job, left for a worker of another version", kind=kind, waiting=waiting[kind]
            )
