import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kg_api.errors import ConfigurationError
from kg_api.local import neo4j, processes
from kg_api.local.processes import ApiAnswer


@contextmanager
def listener(answer: Callable[[bytes], bytes] | None = None) -> Generator[int]:
    def serve() -> None:
        try:
            while True:
                connection, _ = server.accept()
                with connection:
                    if answer and (said := connection.recv(100)):
                        connection.sendall(answer(said))
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def service(status: int, body: bytes) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/ready" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def choose(wanted: int | None = None, remembered: int | None = None, default: int = 0) -> int:
    return processes.choose_port(
        wanted=wanted, remembered=remembered, default=default, variable="KG_NEO4J__PORT"
    )


def test_default_port_in_use_is_replaced() -> None:
    with listener() as remembered, listener() as default:
        chosen = choose(remembered=remembered, default=default)
    assert chosen not in (remembered, default)
    assert processes.is_free(chosen)


def test_configured_port_in_use_names_process_and_setting() -> None:
    with listener() as port, pytest.raises(ConfigurationError) as caught:
        choose(wanted=port, default=processes.find_free_port())
    message = str(caught.value)
    assert f"port {port}" in message
    assert "KG_NEO4J__PORT" in message
    assert f"(pid {os.getpid()})" in message


@pytest.mark.parametrize(
    ("reply", "expected"),
    [(bytes.fromhex("00000805"), True), (bytes(4), False), (b"HTTP/1.1 400 Bad", False), (b"", False)],
)
def test_only_bolt_is_taken_for_bolt(reply: bytes, expected: bool) -> None:
    heard: list[bytes] = []

    def answer(said: bytes) -> bytes:
        heard.append(said)
        return reply

    with listener(answer) as port:
        assert neo4j.answers("127.0.0.1", port) is expected
    assert heard[0][:4] == bytes.fromhex("6060b017")
    assert len(heard[0]) == 20


def test_probe_follows_the_uri_scheme() -> None:
    with listener(lambda _: bytes.fromhex("00000805")) as port:
        assert neo4j.is_bolt_reachable(f"neo4j://127.0.0.1:{port}")
        assert not neo4j.is_bolt_reachable(f"bolt+ssc://127.0.0.1:{port}")
        assert not neo4j.is_bolt_reachable(f"bolt+s://127.0.0.1:{port}")


BACKLOG = (
    b'{"waiting_for": "a worker", "checks": [{"name": "worker", "ok": false}, '
    b'{"name": "source_words", "ok": true}, {"name": "model", "ok": false}]}'
)
"""Response to return if jobs are waiting and the model is not available. You can still use full-text
search."""


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"ready": true}', ApiAnswer(reached=True, ready=True, serves=True)),
        (503, BACKLOG, ApiAnswer(reached=True, waiting_for="a worker", serves=True)),
        (503, BACKLOG.replace(b"true", b"false"), ApiAnswer(reached=True, waiting_for="a worker")),
        (503, b'{"waiting_for": "indexes"}', ApiAnswer(reached=True, waiting_for="indexes")),
        (503, b"{}", ApiAnswer(reached=True, waiting_for="the service")),
        (200, b"<html>", ApiAnswer(reached=True, waiting_for="the service, which answers HTTP 200")),
        (500, b"[]", ApiAnswer(reached=True, waiting_for="the service, which answers HTTP 500")),
    ],
)
def test_readiness_follows_the_service_response(status: int, body: bytes, expected: ApiAnswer) -> None:
    with service(status, body) as url:
        assert processes.ask_ready(url) == expected
        assert processes.ask_ready(f"{url}/") == expected
