import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from kg_api.errors import ConfigurationError
from kg_api.local import processes
from kg_api.local.processes import LOOPBACK, Home, find_free_port, is_free, open_listener
from kg_api.settings import ApiSettings, Settings, load_settings
from kg_api.web import serve
from kg_api.web.serve import _listen
from kg_api.web.shared.connections import Connection, Connections

MAXIMUM = 5
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Return the port of a server that allows little time and few connections."""
    settings = ApiSettings(header_seconds=1, idle_seconds=2, stall_seconds=1)
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
        pytest.param(CHUNKED + b"0\r\n" + b"X: y\r\n" * 200_000, id="trailers without end"),
    ],
)
def test_request_over_the_limits_is_rejected(port: int, sent: bytes) -> None:
    with connect(port) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent)
        assert b" 200 " not in answer(connection)


def test_connection_is_kept_for_any_number_of_requests(port: int) -> None:
    with connect(port) as connection:
        for _ in range(80):
            connection.sendall(HEAD + b"X: " + b"x" * 1_000 + b"\r\nContent-Length: 0\r\n\r\n")
            assert b" 200 " in connection.recv(65536)


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
    assert 2 <= time.monotonic() - begun < 6


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


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path).create()


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("KG_API__PORT", raising=False)
    return load_settings()


def asking_for(port: int, settings: Settings) -> Settings:
    return settings.model_copy(update={"api": settings.api.model_copy(update={"port": port})})


def port_of(listening: socket.socket) -> int:
    with listening:
        return int(listening.getsockname()[1])


def test_managed_service_moves_to_free_port(
    home: Home, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_listener(LOOPBACK, find_free_port())) as taken:
        port = taken.getsockname()[1]
        home.remember(api=port)
        monkeypatch.setattr(serve, "DEFAULT_PORT", port)
        assert port_of(_listen(settings, home, managed=True)) != port
    assert port_of(_listen(settings, home, managed=True)) == port


@pytest.mark.parametrize("managed", [True, False])
def test_set_port_that_is_taken_names_its_holder(home: Home, settings: Settings, *, managed: bool) -> None:
    with closing(open_listener(LOOPBACK, find_free_port())) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port} .* is taken by .*KG_API__PORT"):
            _listen(asking_for(port, settings), home, managed=managed)


def test_address_of_other_machine_is_named(
    home: Home, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_answers", lambda *_: False)
    elsewhere = settings.model_copy(update={"api": settings.api.model_copy(update={"host": "192.0.2.1"})})
    with pytest.raises(ConfigurationError, match=r"cannot listen on 192\.0\.2\.1"):
        _listen(elsewhere, home, managed=True)


def test_port_is_taken_as_soon_as_one_listens() -> None:
    port = find_free_port()
    with closing(open_listener(LOOPBACK, port)):
        assert not is_free(port)
        with pytest.raises(OSError, match="in use"):
            open_listener(LOOPBACK, port)
    assert is_free(port)
