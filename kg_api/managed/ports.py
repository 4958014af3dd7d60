"""Ports on the loopback address."""

from __future__ import annotations

import os
import random
import socket

import psutil

from kg_api.errors import ConfigurationError

LOOPBACK = "127.0.0.1"
_BELOW_EPHEMERAL = range(20_000, 32_768)
"""Systems give outgoing connections ports above: one of those may be taken before its server listens."""
_TRIED = 50


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    if _answers(port, host):
        return False
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # else a port that was just closed seems taken for a minute
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Give a port that nobody listens on at the moment."""
    for port in random.sample(_BELOW_EPHEMERAL, _TRIED):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def choose_port(
    *, wanted: int | None, remembered: int | None, default: int, variable: str, host: str = LOOPBACK
) -> int:
    """Pick a port: the wanted one; else the one of last time, the default, or any that is free.

    Args:
        wanted: what the settings ask for; None leaves the choice.
        remembered: the port of the last start.
        default: the well-known port.
        variable: the environment variable that sets `wanted`, for the message.
        host: the address that will be listened on.

    Raises:
        ConfigurationError: the wanted port is taken; the message names the variable and who has the port.
    """
    if wanted is None:
        return (
            next((port for port in (remembered, default) if port and is_free(port, host)), None)
            or free_port()
        )
    if not is_free(wanted, host):
        raise ConfigurationError(
            f"port {wanted}, which {variable} asks for, is taken by {holder(wanted)}. "
            f"Stop that process, set {variable} to another port, or unset it: kg then picks a free one."
        )
    return wanted


def holder(port: int) -> str:
    """Say who listens on a port, as far as this user may know."""
    try:
        for connection in psutil.net_connections("tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.pid
                and connection.laddr[1:2] == (port,)
            ):
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except psutil.Error:  # macOS shows other users' sockets to root only
        pass
    return "another process"


def _answers(port: int, host: str) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True
