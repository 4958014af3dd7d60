"""The process of the REST service."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from socket import socket
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from kg_api.errors import ConfigurationError, KgError
from kg_api.logs import configure_logs
from kg_api.managed.home import Home
from kg_api.settings import Settings
from kg_api.tracing.export import tracing
from kg_api.web.access.required import warn_if_open
from kg_api.web.app import create_app
from kg_api.web.limits.connection import Connection
from kg_api.web.limits.connections import ConnectionLimits, connections_and_backlog
from kg_api.web.siblings import Siblings
from kg_api.wording.hosts import is_loopback

log = structlog.get_logger()

DEFAULT_PORT = 8420
GRACE_SECONDS = 10
SERVICE = "kg-api"
"""What traces call it."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, in as many processes as the settings say.

    Raises:
        ConfigurationError: the service can never become ready; the message says what to change.
    """
    configure_logs(settings.log)
    hopeless: list[KgError] = []

    def give_up(error: KgError) -> None:
        hopeless.append(error)
        server.should_exit = True

    host, port = settings.api.host, settings.api.port or DEFAULT_PORT
    server = _server(settings, create_app(settings, give_up))
    if not is_loopback(host):
        log.info("listening beyond this machine: who sends no key is refused", host=host)
    warn_if_open(settings.api)
    _announce(settings, host, port)
    with closing(_listen(server.config)) as listening:
        siblings = Siblings(partial(serve_beside, settings), listening, settings.api.process_count - 1)
        server.end_others = siblings.end
        siblings.start()
        try:
            with tracing(settings.otel.exporter_otlp_endpoint, SERVICE):
                server.run(sockets=[listening])
        finally:
            siblings.join(GRACE_SECONDS)
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
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config)
    _end_on_signals(server)
    return server


def _listen(config: uvicorn.Config) -> socket:
    try:
        return config.bind_socket()
    except SystemExit:  # uvicorn's way to say that it cannot listen
        raise ConfigurationError(
            f"port {config.port} on {config.host} cannot be used, it may be taken; set KG_API__PORT to "
            "another"
        ) from None


def _announce(settings: Settings, host: str, port: int) -> None:
    """Without it, folders below KG_SYNC__ROOTS can be followed all the same."""
    try:
        Home(settings.home).announce_service(host, port)
    except OSError as error:
        log.warning(
            "KG_HOME cannot be written: `kg folders add` can name folders below KG_SYNC__ROOTS only, and "
            "where keys are required, no command can make the first one",
            home=str(settings.home),
            reason=error.strerror,
        )


def _end_on_signals(server: uvicorn.Server) -> None:
    """Let SIGTERM and SIGINT end the process with 0; uvicorn would die of them again when all is done."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
