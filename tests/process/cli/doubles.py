from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kg_api.errors import KgError


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    media_type: str = "application/json"


def problem(error: KgError) -> Reply:
    body = {"type": f"urn:kg:{error.slug()}", "title": type(error).__name__, "detail": str(error)}
    return Reply(error.status, json.dumps(body).encode(), "application/problem+json")


@contextlib.contextmanager
def answering(answer: Callable[[Request], Reply]) -> Generator[str]:
    """Yield the URL of a server that uses a function to respond."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            reply = answer(Request(self.command, self.path, dict(self.headers), self.rfile.read(length)))
            self.send_response(reply.status)
            self.send_header("content-type", reply.media_type)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET  # noqa: N815 - the names are the library's
        do_DELETE = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
