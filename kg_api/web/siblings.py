"""Further processes that serve the same port: Python keeps no more than one core busy in a process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

import structlog

log = structlog.get_logger()

METRICS = "PROMETHEUS_MULTIPROC_DIR"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until one that died is started again; twice as long each time, unless it has lived for a while."""
LIVED_SECONDS = 60.0
ORPHAN_SECONDS = 15.0
"""So long one whose first process has gone may take for its end; after that it would keep the port."""

Serve = Callable[[socket.socket], None]
"""What a sibling does: a function of a module, for it is called in a new interpreter."""


@contextmanager
def shared_metrics(processes: int) -> Generator[None]:
    """Let /metrics tell of all processes; to be entered before anything imports prometheus_client."""
    if processes == 1 or METRICS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kg-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ[METRICS] = folder
        yield


class Siblings:
    """Processes that serve a socket beside this one. One that dies is started again, ever later.

    Args:
        serve: what each does.
        listening: the socket, bound.
        count: how many.
    """

    def __init__(self, serve: Serve, listening: socket.socket, count: int) -> None:
        self._places = [_Place(serve, listening) for _ in range(count)]
        self._ending = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="siblings", daemon=True)

    def start(self) -> None:
        """Start them, and look after them."""
        if self._places:
            self._watching.start()

    def end(self) -> None:
        """Tell them to end; they answer what they have begun."""
        self._ending.set()
        for each in self._places:
            each.terminate()

    def join(self, seconds: float) -> None:
        """Wait for their end; kill what is still there then."""
        self.end()
        if self._watching.ident is not None:
            self._watching.join()  # so that it starts none behind our back
        until = time.monotonic() + seconds
        for each in self._places:
            each.join(until)

    def _watch(self) -> None:
        while not self._ending.is_set():
            for each in self._places:
                each.keep_alive()
            sentinels = [each.process.sentinel for each in self._places if each.process]
            wait(sentinels, timeout=FIRST_PAUSE / 2)


class _Place:
    """One sibling, or the next one in its place."""

    def __init__(self, serve: Serve, listening: socket.socket) -> None:
        self.process: SpawnProcess | None = None
        self._make = lambda: _spawn.Process(target=_run, args=(serve, listening), daemon=False)
        self._started_at = 0.0
        self._pause = FIRST_PAUSE
        self._due_at = 0.0

    def keep_alive(self) -> None:
        """Start it where it does not run and its pause is over."""
        if self.process is not None and not self.process.is_alive():
            self._mourn(self.process)
        if self.process is None and time.monotonic() >= self._due_at:
            self._start()

    def _start(self) -> None:
        self._started_at = time.monotonic()
        process = self._make()
        try:
            process.start()
        except OSError as error:  # no memory or no descriptor left at the moment
            log.warning("a process of the service cannot be started", reason=str(error))
            self._due_at = time.monotonic() + LONGEST_PAUSE
        else:
            self.process = process  # only now: who ends it may come at any moment

    def _mourn(self, process: SpawnProcess) -> None:
        now = time.monotonic()
        lived = now - self._started_at
        self._pause = FIRST_PAUSE if lived > LIVED_SECONDS else min(2 * self._pause, LONGEST_PAUSE)
        self._due_at = now + self._pause
        log.warning("a process of the service died", exit_code=process.exitcode, again_in=self._pause)
        self.process = None

    def terminate(self) -> None:
        if (process := self.process) is not None:
            process.terminate()

    def join(self, until: float) -> None:
        if (process := self.process) is None:
            return
        process.terminate()  # one that was started at the last moment
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


_spawn = multiprocessing.get_context("spawn")


def _run(serve: Serve, listening: socket.socket) -> None:
    """The life of a sibling: it ends with the process that started it, however that ended."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    serve(listening)


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)
