from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.behaviours import Behaviour, Drip, Drop, Hang, Raw, Spoil, Status


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


class ToldServer:
    """Server that listens on a local port until you leave the context."""

    def __init__(self, handler: type[Handler], port: int = 0) -> None:
        self.requests: list[Request] = []
        self.always: Behaviour | None = None
        """Behaviour to use for a request if no other is set. If this is None, the server works
        normally."""
        self.closing = threading.Event()
        self._next: deque[Behaviour | None] = deque()
        self._http = Http(("127.0.0.1", port), handler)
        self._http.kg = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def then(self, *behaviours: Behaviour | None) -> None:
        """Set the behaviours to use for the next requests. If one is None, the server works normally."""
        self._next.extend(behaviours)

    def next_behaviour(self, body: dict[str, Any]) -> Behaviour | None:  # noqa: ARG002 - for those who look at it
        return self._next.popleft() if self._next else self.always

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.closing.is_set():
            return
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class Http(ThreadingHTTPServer):
    kg: Any
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Http  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.reply()

    def reply(self) -> None:
        raise NotImplementedError

    def keep(self, body: dict[str, Any]) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.kg.requests.append(made := Request(self.path, headers, body))
        return made

    def begin(self, status: int, length: int | None, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("content-length", str(length))
        self.end_headers()

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.begin(status, len(content), headers or {})
        self.wfile.write(content)

    def send_json(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(content).encode(), headers)

    def behave(self, told: Behaviour | None, right: Any) -> None:
        match told:
            case Status():
                headers = {"retry-after": told.retry_after} if told.retry_after else {}
                self.send_json(told.status, self.describe(told), headers)
            case Hang(seconds):
                self.server.kg.closing.wait(seconds)
                self.close_connection = True
            case Drip():
                self._drip(told, json.dumps(right).encode())
            case Drop(mid_body):
                self._drop(json.dumps(right).encode() if mid_body else b"")
            case Raw(content, content_type):
                self.send(200, content, {"content-type": content_type})
            case Spoil(how):
                how(right)
                self.send_json(200, right)
            case None:
                self.send_json(200, right)

    def describe(self, told: Status) -> object:
        """Return the JSON of an error."""
        raise NotImplementedError

    def _drip(self, told: Drip, content: bytes) -> None:
        if not told.head:
            self.begin(200, len(content), {})
        for byte in (b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 10_000) if told.head else content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.kg.closing.wait(told.every):
                break
        self.close_connection = True

    def _drop(self, body: bytes) -> None:
        if body:
            self.begin(200, len(body), {})
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
        ...
