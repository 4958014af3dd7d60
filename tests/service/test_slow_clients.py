"""Tests that slow clients are disconnected and do not block others (G36)."""

import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.neo4j_server import Neo4jServer
from tests.service.asking import SEARCH, ingest
from tests.support.running import Service, serve, wait_until

HALF = b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-"
BEGUN = (
    b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n{"
)
HEADER_SECONDS = 1.0
FULL = 2000
"""Number of requests that are only sent in part. The numbers in G36 are for an idle machine."""
STALL_SECONDS = 1.0


@pytest.fixture(scope="module")
def guarded(server: Neo4jServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = serve(
        server,
        tmp_path_factory.mktemp("guarded"),
        KG_API__MAX_CONNECTIONS="100",
        KG_API__HEADER_SECONDS=str(HEADER_SECONDS),
        KG_API__STALL_SECONDS=str(STALL_SECONDS),
    )
    yield running
    assert running.stop() == 0, running.output()


def connect(service: Service) -> socket.socket:
    host, port = service.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def closed_after(connection: socket.socket) -> tuple[float, bytes]:
    """Return the response, and the number of seconds until the connection was closed."""
    begun, said = time.monotonic(), b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            said += part
    return time.monotonic() - begun, said


def search_seconds(client: httpx.Client, times: int) -> list[float]:
    took: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        assert client.post(SEARCH, json={"query_text": "bees", "mode": "text"}).status_code == 200
        took.append(time.perf_counter() - begun)
    return sorted(took)


def test_slow_request_head_times_out(guarded: Service) -> None:
    with connect(guarded) as connection:
        begun = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - begun < HEADER_SECONDS + 60:
                connection.sendall(b"x")
                time.sleep(0.1)
    assert time.monotonic() - begun < HEADER_SECONDS + 50


@pytest.mark.parametrize("pause", [None, 0.2], ids=["silent", "byte by byte"])
def test_slow_request_body_times_out(guarded: Service, pause: float | None) -> None:
    with connect(guarded) as connection:
        connection.sendall(BEGUN)
        ended = threading.Event()

        def trickle() -> None:
            while pause and not ended.wait(pause):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

        sender = threading.Thread(target=trickle)
        sender.start()
        took, said = closed_after(connection)
        ended.set()
        sender.join()
    assert STALL_SECONDS - 0.1 < took < STALL_SECONDS + 3
    assert said.startswith(b"HTTP/1.1 408 ")


def test_a_slow_upload_that_moves_is_taken(guarded: Service, http: httpx.Client) -> None:
    del http
    text = b'{"ontology": "slow", "document": "d", "text": "' + b"word " * 600 + b'"}'

    def parts() -> Iterator[bytes]:
        for begin in range(0, len(text), 600):
            yield text[begin : begin + 600]
            time.sleep(0.5)

    kind = {"content-type": "application/json"}
    begun = time.monotonic()
    response = httpx.post(f"{guarded.url}/documents", content=parts(), headers=kind, timeout=60)
    assert response.status_code == 202, response.text
    assert time.monotonic() - begun > 2 * STALL_SECONDS


def test_quiet_event_stream_stays_open(guarded: Service) -> None:
    with httpx.stream("GET", f"{guarded.url}/jobs/events?ontology=none", timeout=30) as response:
        begun = time.monotonic()
        assert next(response.iter_raw()).startswith(b": ping")
    assert time.monotonic() - begun > 2 * max(HEADER_SECONDS, STALL_SECONDS)


def test_unread_response_is_closed(guarded: Service) -> None:
    asked = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    host, port = guarded.url.removeprefix("http://").split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.sendall(asked * 20)
        wait_until(lambda: "too_slow_answer" in guarded.output(), 30, guarded.output)
        connection.settimeout(30)
        _, said = closed_after(connection)
    assert len(said) < 20_000_000


@pytest.mark.parametrize(
    ("half", "slow"), [(300, 10), pytest.param(FULL, 10, marks=pytest.mark.full)], ids=["short", "full"]
)
def test_many_half_requests_block_no_client(
    server: Neo4jServer, http: httpx.Client, tmp_path: Path, half: int, slow: int
) -> None:
    """Use fewer file descriptors than there are connections."""
    del http
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(half // 2, 384), before[1]))
    try:
        service = serve(server, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        with ExitStack() as stack, httpx.Client(base_url=service.url, timeout=10) as client:
            ingest(client, "Bees dance.")
            alone = search_seconds(client, 60)
            senders = [stack.enter_context(connect(service)) for _ in range(slow)]
            for each in senders:
                each.sendall(BEGUN)
            for _ in range(half):
                stack.enter_context(connect(service)).sendall(HALF)
            begun = time.monotonic()
            assert httpx.get(f"{service.url}/health", timeout=30).status_code == 200
            assert time.monotonic() - begun < (1 if half == FULL else 10)
            beside = search_seconds(client, 60)
            assert beside[57] < (max(2 * alone[57], 0.05) if half == FULL else max(10 * alone[57], 1))
            assert httpx.post(f"{service.url}/mcp", json={}, timeout=30).status_code == 400
    finally:
        assert service.stop() == 0, service.output()
    assert "out of system resource" not in service.output()
