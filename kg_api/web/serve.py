"""Start of the service with several processes on one port."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import socket as socket_module
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from multiprocessing.context import SpawnProcess
from socket import socket
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from kg_api.errors import ConfigurationError, KgError
from kg_api.graph.reach import fail_without_caller
from kg_api.local import processes
from kg_api.local.processes import (
    Home,
    choose_local_host,
    describe_holder,
    find_free_port,
    is_free,
    is_port_held_by_home,
    open_listener,
)
from kg_api.logs import configure_logs
from kg_api.settings import Settings
from kg_api.tracing import tracing
from kg_api.web.app import create_app
from kg_api.web.shared.connections import Connection, Connections, choose_connection_limits
from kg_api.web.shared.forwarded import Forwarded
from kg_api.web.shared.security import warn_if_open

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a dead process is restarted. This is doubled, unless the process lived long enough."""
LIVED_SECONDS = 60.0
ORPHAN_SECONDS = 15.0
"""Time limit to stop a process when its parent has died. Otherwise it would keep the port."""

Serve = Callable[[socket_module.socket], None]
"""Main function for a child process. It has to be at module level, because a new interpreter calls it."""


class Workers:
    """Child processes to serve the same socket. If one dies, it will be restarted with a growing delay.

    uvicorn's supervisor is not suitable: its processes listen before they are ready, it serves nothing
    itself, and it kills processes that are busy for some seconds.
    """

    def __init__(self, serve: Serve, listening: socket_module.socket, count: int) -> None:
        self._serve, self._listening = serve, listening
        self._ending = threading.Event()
        self._running: set[SpawnProcess] = set()
        self._keepers = [threading.Thread(target=self._keep_one, daemon=True) for _ in range(count)]

    def start(self) -> None:
        for each in self._keepers:
            each.start()

    def end(self) -> None:
        self._ending.set()
        for each in [*self._running]:
            each.terminate()

    def join(self, seconds: float) -> None:
        self.end()
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(END_POLL_SECONDS)
        for each in [*self._running]:
            each.kill()
        for each in self._keepers:
            if each.is_alive():
                each.join()

    def _keep_one(self) -> None:
        pause = FIRST_PAUSE
        while not self._ending.is_set():
            process = _spawn.Process(target=_run, args=(self._serve, self._listening), daemon=False)
            started = time.monotonic()
            try:
                process.start()
            except OSError as error:  # currently no memory or no descriptor
                log.warning("a process of the service cannot be started", reason=str(error))
                self._ending.wait(LONGEST_PAUSE)
                continue
            self._running.add(process)
            if self._ending.is_set():  # `join` may have already terminated the others
                process.terminate()
            process.join()
            self._running.discard(process)
            if self._ending.is_set():
                return
            lived = time.monotonic() - started
            pause = FIRST_PAUSE if lived > LIVED_SECONDS else min(2 * pause, LONGEST_PAUSE)
            log.warning("a process of the service died", exit_code=process.exitcode, again_in=pause)
            self._ending.wait(pause)


_spawn = multiprocessing.get_context("spawn")


def _run(serve: Serve, listening: socket_module.socket) -> None:
    """Run a child process until its parent ends."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    serve(listening)


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)


# Main process

log = structlog.get_logger()

DEFAULT_PORT = 8420
GRACE_SECONDS = 10
PORTS_TRIED = 10
EARLIER_POLL_SECONDS = 0.5
END_POLL_SECONDS = 0.05
SERVICE = "kg-api"


def serve(settings: Settings, *, managed: bool = False) -> None:
    """Serve until SIGTERM or SIGINT with the configured number of processes.

    With `managed`, as for `kg up`, use and record a free port if no port is set.
    """
    configure_logs(settings.log)
    home, hopeless = Home(settings.home), list[KgError]()

    def give_up(error: KgError) -> None:
        hopeless.append(error)
        server.should_exit = True

    server = _build_server(settings, create_app(settings, give_up))
    warn_if_open(settings.api)
    with closing(_listen(settings, home, managed=managed)) as listening:
        port = listening.getsockname()[1]
        if managed:
            home.remember(api=port, api_host=choose_local_host(settings.api.host))
        announced = _announce(home, settings.api.host, port)
        workers = Workers(partial(serve_when_ready, settings), listening, settings.api.process_count - 1)
        server.end_others = workers.end
        workers.start()
        try:
            with tracing(settings.otel.exporter_otlp_endpoint, SERVICE):
                server.run(sockets=[listening])
        finally:
            workers.join(GRACE_SECONDS)
            if announced:
                with suppress(OSError):  # the home is deleted, or its disk is full
                    processes.withdraw(home)
    if hopeless:
        raise hopeless[0]


def serve_when_ready(settings: Settings, listening: socket) -> None:
    """Serve the socket of the main process as soon as the service is ready."""
    configure_logs(settings.log)

    def give_up(error: KgError) -> None:
        del error  # the first process reports it
        server.should_exit = True

    app = create_app(settings, give_up, opened=True)
    server = _build_server(settings, app)
    server.end_others = app.state.opening.stop  # opening may wait for the database
    with tracing(settings.otel.exporter_otlp_endpoint, SERVICE):
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Server that also ends other processes when it gets a signal."""

    end_others: Callable[[], None] = staticmethod(lambda: None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end_others()


def _build_server(settings: Settings, app: FastAPI) -> _Server:
    fail_without_caller()
    connections, backlog = choose_connection_limits(settings.api)
    config = uvicorn.Config(
        app,
        host=settings.api.host,
        port=settings.api.port or DEFAULT_PORT,
        http=partial(Connection, Connections(settings.api, connections)),  # pyright: ignore[reportArgumentType] - uvicorn only calls it
        ws="none",
        backlog=backlog,
        timeout_keep_alive=settings.api.idle_seconds,  # pyright: ignore[reportArgumentType] - for call_later
        access_log=False,
        proxy_headers=False,  # Forwarded applies them
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.app = Forwarded(app, settings.api.root_path or "", config.forwarded_allow_ips)
    server = _Server(config)
    _end_on_signals(server)
    return server


def _listen(settings: Settings, home: Home, *, managed: bool) -> socket:
    """Bind the first free port. If this was checked before, the port could be used by then."""
    host, asked = settings.api.host, settings.api.port
    if asked or not managed:
        candidates = iter((asked or DEFAULT_PORT,))
    else:
        known = dict.fromkeys((home.read_api_port() or DEFAULT_PORT, DEFAULT_PORT))
        candidates = chain(known, (find_free_port() for _ in range(PORTS_TRIED)))
    port = DEFAULT_PORT
    for port in candidates:
        if managed:
            # Wait for remaining processes of a killed service of this home at its port
            until = time.monotonic() + ORPHAN_SECONDS
            while (
                not is_free(port, host) and is_port_held_by_home(home.path, port) and time.monotonic() < until
            ):
                time.sleep(EARLIER_POLL_SECONDS)
        try:
            return open_listener(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"kg cannot listen on {host}, port {port} (KG_API__HOST, KG_API__PORT): {error.strerror}"
                ) from None
    raise ConfigurationError(
        f"port {port} on {host} is taken by {describe_holder(port)}. Stop that process, or set KG_API__PORT "
        "to another port."
    )


def _announce(home: Home, host: str, port: int) -> bool:
    """Record the service in its home. Check if this is possible."""
    try:
        processes.announce(home, host, port)
    except OSError as error:
        log.warning(
            "KG_HOME cannot be written, so `kg folders add` can only add folders below "
            "KG_SYNC__ROOTS, and no command can create the first API key",
            home=str(home.path),
            reason=error.strerror,
        )
        return False
    return True


def _end_on_signals(server: uvicorn.Server) -> None:
    """End the process with exit code 0 after SIGTERM or SIGINT. uvicorn would raise the signal again."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
