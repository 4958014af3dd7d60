from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from kg_api.local.processes import LOOPBACK, find_free_port, open_listener
from kg_api.settings import ApiSettings
from kg_api.web.shared.connections import Connection, Connections

MAXIMUM = 5
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Return the port of a server that allows little time and few connections."""
    settings = ApiSettings(header_seconds=1, idle_seconds=1, stall_seconds=1)
    protocol = partial(Connection, Connections(settings, MAXIMUM))
    config = uvicorn.Config(echo, http=protocol, ws="none", lifespan="off", log_config=None)  # pyright: ignore[reportArgumentType]
    server = uvicorn.Server(config)
    with closing(open_listener(LOOPBACK, find_free_port())) as listening:
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        serving.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        serving.join()


def connect(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=10)


def answer(connection: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            said += part
    return said


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(HEAD + b"X: " + b"x" * 1_000_000, id="a value without end"),
        pytest.param(HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)), id="headers without end"),
        pytest.param(b"GET /" + b"x" * 1_000_000, id="an address without end"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 200_000,
            id="trailers without end",
        ),
        pytest.param(HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", id="two lengths"),
        pytest.param(b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="a method that is none"),
    ],
)
def test_request_over_the_limits_is_rejected(port: int, sent: bytes) -> None:
    with connect(port) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent)
        assert b" 200 " not in answer(connection)


def test_body_in_many_small_chunks_is_taken(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n")
        assert b"100000 bytes" in answer(connection)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "body", [b"Content-Length: 4\r\n\r\nbody", b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"]
)
def test_body_of_request_for_another_protocol_is_read(port: int, body: bytes, *, at_once: bool) -> None:
    """This is how the Java client sends its first request."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    sent = HEAD + upgrade + body + HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi"
    with connect(port) as connection:
        for each in [sent] if at_once else [sent[n : n + 7] for n in range(0, len(sent), 7)]:
            connection.sendall(each)
            time.sleep(0 if at_once else 0.005)
        said = answer(connection)
    assert said.count(b"HTTP/1.1 200 ") == 2
    assert b"4 bytes" in said
    assert said.endswith(b"2 bytes")


def test_idle_connection_sending_line_breaks_is_closed(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 0\r\n\r\n")
        begun = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - begun < 8:
                connection.sendall(b"\r\n")
                time.sleep(0.2)
    assert time.monotonic() - begun < 5


def test_oldest_connection_that_waits_makes_room(port: int) -> None:
    waiting = [connect(port) for _ in range(MAXIMUM)]
    try:
        for each in waiting:
            each.sendall(HEAD)
            time.sleep(0.05)
        with connect(port) as newcomer:
            newcomer.sendall(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi")
            assert answer(newcomer).endswith(b"2 bytes")
        assert answer(waiting[0]).startswith(b"HTTP/1.1 408 ")
    finally:
        for each in waiting:
            each.close()
