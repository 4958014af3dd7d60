"""The first eight bytes of Bolt: enough to know that a Neo4j answers, without a driver."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

MAGIC = bytes.fromhex("6060b017")
VERSIONS = bytes.fromhex("00080805000204040000000000000000")
"""What we could speak: 5.8 down to 5.0, 4.4 down to 4.2."""

DEFAULT_PORT = 7687


def answers(host: str, port: int, *, timeout: float = 1.0, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a Bolt server shakes hands there."""
    try:
        with socket.create_connection((host, port), timeout=timeout) as plain:
            if tls is None:
                return _shake_hands(plain)
            with tls.wrap_socket(plain, server_hostname=host) as wrapped:
                return _shake_hands(wrapped)
    except OSError:
        return False


def uri_answers(uri: str, *, timeout: float = 3.0) -> bool:
    """Whether a Bolt server answers at a bolt:// or neo4j:// address, encrypted where the scheme says so."""
    parts = urlsplit(uri)
    return answers(
        parts.hostname or "localhost", parts.port or DEFAULT_PORT, timeout=timeout, tls=_tls(parts.scheme)
    )


def _tls(scheme: str) -> ssl.SSLContext | None:
    if scheme.endswith("+ssc"):  # self-signed: encrypted, not verified, as its name says
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context() if scheme.endswith("+s") else None


def _shake_hands(connection: socket.socket) -> bool:
    connection.sendall(MAGIC + VERSIONS)
    reply = connection.recv(4)
    return len(reply) == len(MAGIC) and reply[:2] == b"\0\0" and reply[3] > 0
