"""The process of the REST service."""

from __future__ import annotations

import signal
from functools import partial

import structlog
import uvicorn

from kg_api.errors import ConfigurationError, KgError
from kg_api.logs import configure_logs
from kg_api.managed.home import Home
from kg_api.settings import Settings
from kg_api.web.app import create_app
from kg_api.web.limits.connection import Connection
from kg_api.web.limits.connections import ConnectionLimits, connections_and_backlog
from kg_api.web.limits.origin import is_loopback

log = structlog.get_logger()

DEFAULT_PORT = 8420
GRACE_SECONDS = 10


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        ConfigurationError: the service can never become ready; the message says what to change.
    """
    configure_logs(settings.log)
    hopeless: list[KgError] = []

    def give_up(error: KgError) -> None:
        hopeless.append(error)
        server.should_exit = True

    app = create_app(settings, give_up)
    host, port = settings.api.host, settings.api.port or DEFAULT_PORT
    if not is_loopback(host):
        log.warning("listening beyond this machine, and anyone who reaches it may read and write", host=host)
    _announce(settings, host, port)
    connections, backlog = connections_and_backlog(settings.api)
    limits = ConnectionLimits(settings.api, connections)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=partial(Connection, limits),  # pyright: ignore[reportArgumentType] - it is called, no more
            backlog=backlog,
            timeout_keep_alive=settings.api.idle_seconds,  # pyright: ignore[reportArgumentType] - for call_later
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    _end_on_signals(server)
    try:
        server.run()
    except SystemExit:  # uvicorn's way to say that it cannot listen
        raise ConfigurationError(
            f"port {port} on {host} cannot be used, it may be taken; set KG_API__PORT to another"
        ) from None
    if hopeless:
        raise hopeless[0]


def _announce(settings: Settings, host: str, port: int) -> None:
    """Without it, folders below KG_SYNC__ROOTS can be followed all the same."""
    try:
        Home(settings.home).announce_service(host, port)
    except OSError as error:
        log.warning(
            "KG_HOME cannot be written: `kg folders add` can name folders below KG_SYNC__ROOTS only",
            home=str(settings.home),
            reason=error.strerror,
        )


def _end_on_signals(server: uvicorn.Server) -> None:
    """Let SIGTERM and SIGINT end the process with 0; uvicorn would die of them again when all is done."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
