"""Ports on the loopback address."""

from __future__ import annotations

import errno
import os
import random
import socket
from pathlib import Path

import psutil

from kg_api.errors import ConfigurationError

LOOPBACK = "127.0.0.1"
_BELOW_EPHEMERAL = range(20_000, 32_768)
"""Systems give outgoing connections ports above: one of those may be taken before its server listens."""
_TRIED = 50


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    try:
        _bind(host, port).close()
    except OSError:
        return False
    return True


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens: from now on no other process can take the port.

    Raises:
        OSError: EADDRINUSE if another process has the port.
    """
    bound = _bind(host, port)
    try:
        bound.listen()
    except OSError:
        bound.close()
        raise
    return bound


def _bind(host: str, port: int) -> socket.socket:
    if _answers(port, host):  # some systems let two servers share a port under different addresses
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # else a port that was just closed seems taken for a minute
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


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
    """Say who listens on a port, as far as this user may know; of a kg, whose home it serves."""
    if (process := _listener(port)) is None:
        return "another process"
    home = holder_home(port)
    name = f"the kg of the home {home}" if home else process.name()
    return f"{name} (pid {process.pid})"


def holder_home(port: int) -> str | None:
    """Return the home of the kg that listens on a port; None if it is no kg, or of another user."""
    try:
        process = _listener(port)
        return process and (_home_of(process) or _home_of(process.parent()))
    except psutil.Error:
        return None


def is_held_by_kg_of(home: Path, port: int) -> bool:
    """Whether a kg of this home listens on a port, also one of a version that cannot prove its home."""
    found = holder_home(port)
    return found is not None and os.path.realpath(found) == os.path.realpath(home)


def _listener(port: int) -> psutil.Process | None:
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            if listens and connection.pid:
                return psutil.Process(connection.pid)
    except psutil.Error:  # macOS shows other users' sockets to root only
        pass
    return None


def _home_of(process: psutil.Process | None) -> str | None:
    """The home of a process of kg; one that serves beside it has other arguments, and it as its parent."""
    if process is None or not any("kg_cli" in each or each.endswith("/kg") for each in process.cmdline()):
        return None
    return process.environ().get("KG_HOME", "of this user")


def _answers(port: int, host: str) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True
