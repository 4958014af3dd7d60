"""The process of the REST service."""

from __future__ import annotations

import errno
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from socket import socket
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from kg_api.errors import ConfigurationError, KgError
from kg_api.logs import configure_logs
from kg_api.managed import services
from kg_api.managed.home import Home, near_host
from kg_api.managed.ports import free_port, holder, is_free, is_held_by_kg_of, listen_on
from kg_api.settings import Settings
from kg_api.tracing.export import tracing
from kg_api.web.access.required import warn_if_open
from kg_api.web.app import create_app
from kg_api.web.forwarded import Forwarded
from kg_api.web.limits.connection import Connection
from kg_api.web.limits.connections import ConnectionLimits, connections_and_backlog
from kg_api.web.siblings import ORPHAN_SECONDS, Siblings
from kg_api.wording.hosts import is_loopback

log = structlog.get_logger()

DEFAULT_PORT = 8420
GRACE_SECONDS = 10
PORTS_TRIED = 10
EARLIER_POLL_SECONDS = 0.5
SERVICE = "kg-api"
"""What traces call it."""


def serve(settings: Settings, *, managed: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, in as many processes as the settings say.

    Args:
        settings: of the service.
        managed: whether `kg up` started it: if no port is set, it takes a free one and records that.

    Raises:
        ConfigurationError: the service can never become ready; the message says what to change.
    """
    configure_logs(settings.log)
    home, hopeless = Home(settings.home), list[KgError]()

    def give_up(error: KgError) -> None:
        hopeless.append(error)
        server.should_exit = True

    server = _server(settings, create_app(settings, give_up))
    if not is_loopback(settings.api.host):
        log.info("listening beyond this machine: who sends no key is refused", host=settings.api.host)
    warn_if_open(settings.api)
    with closing(_listen(settings, home, managed=managed)) as listening:
        port = listening.getsockname()[1]
        if managed:
            home.remember(api=port, api_host=near_host(settings.api.host))
        announced = _announce(home, settings.api.host, port)
        siblings = Siblings(partial(serve_beside, settings), listening, settings.api.process_count - 1)
        server.end_others = siblings.end
        siblings.start()
        try:
            with tracing(settings.otel.exporter_otlp_endpoint, SERVICE):
                server.run(sockets=[listening])
        finally:
            siblings.join(GRACE_SECONDS)
            if announced:
                with suppress(OSError):  # the home was deleted, or its disk is full
                    services.withdraw(home)
    if hopeless:
        raise hopeless[0]


def serve_beside(settings: Settings, listening: socket) -> None:
    """Serve a socket that another process of the service has bound, as soon as all can be answered."""
    configure_logs(settings.log)

    def give_up(error: KgError) -> None:
        del error  # the first process says it
        server.should_exit = True

    app = create_app(settings, give_up, opened=True)
    server = _server(settings, app)
    server.end_others = app.state.opening.stop  # it may wait for the database at this moment
    with tracing(settings.otel.exporter_otlp_endpoint, SERVICE):
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends others at the same time, when a signal ends it."""

    end_others: Callable[[], None] = staticmethod(lambda: None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end (signal handler)."""
        super().handle_exit(sig, frame)
        self.end_others()


def _server(settings: Settings, app: FastAPI) -> _Server:
    connections, backlog = connections_and_backlog(settings.api)
    limits = ConnectionLimits(settings.api, connections)
    config = uvicorn.Config(
        app,
        host=settings.api.host,
        port=settings.api.port or DEFAULT_PORT,
        http=partial(Connection, limits),  # pyright: ignore[reportArgumentType] - it is called, no more
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
    """Take the first port that is free, by listening on it: a check before could be outdated.

    Raises:
        ConfigurationError: no port can be used.
    """
    host, asked = settings.api.host, settings.api.port
    if asked or not managed:
        candidates = iter((asked or DEFAULT_PORT,))
    else:
        known = dict.fromkeys((home.api_port() or DEFAULT_PORT, DEFAULT_PORT))
        candidates = chain(known, (free_port() for _ in range(PORTS_TRIED)))
    port = DEFAULT_PORT
    for port in candidates:
        if managed:
            _wait_for_earlier(home, host, port)
        try:
            return listen_on(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"kg cannot listen on {host}, port {port} (KG_API__HOST, KG_API__PORT): {error.strerror}"
                ) from None
    raise ConfigurationError(
        f"port {port} on {host} is taken by {holder(port)}. Stop that process, or set KG_API__PORT to "
        "another port."
    )


def _wait_for_earlier(home: Home, host: str, port: int) -> None:
    """Wait for the end of processes that a killed service of this home has left at its port."""
    until = time.monotonic() + ORPHAN_SECONDS
    while not is_free(port, host) and is_held_by_kg_of(home.path, port) and time.monotonic() < until:
        time.sleep(EARLIER_POLL_SECONDS)


def _announce(home: Home, host: str, port: int) -> bool:
    """Record the service in its home; whether that was possible."""
    try:
        services.announce(home, host, port)
    except OSError as error:
        log.warning(
            "KG_HOME cannot be written: `kg folders add` can name folders below KG_SYNC__ROOTS only, and "
            "where keys are required, no command can make the first one",
            home=str(home.path),
            reason=error.strerror,
        )
        return False
    return True


def _end_on_signals(server: uvicorn.Server) -> None:
    """Let SIGTERM and SIGINT end the process with 0; uvicorn would die of them again when all is done."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
