"""A real HTTP server that reranks as Cohere and as TEI do, and fails in every way that it is told to."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Status:
    """Answer this status."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True)
class Drip:
    """Send a byte of the right answer now and then, for ever: of its body, or of its head."""

    head: bool = False
    every: float = 0.05


@dataclass(frozen=True)
class Drop:
    """Break the connection off in the middle of the body."""


@dataclass(frozen=True)
class Raw:
    """Answer 200 and this."""

    body: bytes


@dataclass(frozen=True)
class Spoil:
    """Change the right answer before it is sent."""

    how: Callable[[Any], Any]


Behaviour = Status | Drip | Drop | Raw | Spoil


@dataclass
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


class RerankServer:
    """Listens on a free port of this machine while the context lasts."""

    def __init__(self, *, speaks_tei: bool = False) -> None:
        self.requests: list[Request] = []
        self.speaks_tei = speaks_tei
        self.always: Behaviour | None = None
        """What to do when nothing is told for the next request; None: work."""
        self._next: deque[Behaviour | None] = deque()
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.kg = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def then(self, *behaviours: Behaviour | None) -> None:
        """Tell what to do with the next requests, one each; None is to work."""
        self._next.extend(behaviours)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nobody listens any more."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def behaviour(self) -> Behaviour | None:
        """What to do with a request now."""
        return self._next.popleft() if self._next else self.always

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        """The right answer, the best first; an error status where the request is not of this protocol."""
        wanted = "texts" if self.speaks_tei else "documents"
        if path not in {"/rerank", "/v1/rerank", "/v2/rerank"}:
            return Status(404)
        if wanted not in body:
            return Status(422)
        scored = [(at, share(body["query"], text)) for at, text in enumerate(body[wanted])]
        ranked = sorted(scored, key=lambda pair: -pair[1])
        if self.speaks_tei:
            return [{"index": at, "score": score} for at, score in ranked]
        return {"id": "x", "results": [{"index": at, "relevance_score": score} for at, score in ranked]}


def share(query: str, text: str) -> float:
    """The share of the question's words that the text has."""
    wanted = set(WORD.findall(query.lower()))
    return len(wanted & set(WORD.findall(text.lower()))) / len(wanted)


class _Http(ThreadingHTTPServer):
    kg: RerankServer
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer, or fail as told."""
        kg = self.server.kg
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        kg.requests.append(Request(self.path, headers, body))
        right = kg.answer(self.path, body)
        told = right if isinstance(right, Status) else kg.behaviour()
        content = b"" if isinstance(right, Status) else json.dumps(right).encode()
        match told:
            case Status(status, retry_after):
                words = json.dumps({"message": f"{headers.get('authorization')} {body}"}).encode()
                self._send(status, words, {"retry-after": retry_after} if retry_after else {})
            case Drip(head, every):
                self._drip(content, every, head=head)
            case Drop():
                self._begin(200, len(content), {})
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
            case Raw(other):
                self._send(200, other, {})
            case Spoil(how):
                self._send(200, json.dumps(how(right)).encode(), {})
            case None:
                self._send(200, content, {})

    def _drip(self, content: bytes, every: float, *, head: bool) -> None:
        if not head:
            self._begin(200, len(content), {})
        for byte in (b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 10_000) if head else content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.kg.closing.wait(every):
                break
        self.close_connection = True

    def _begin(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length))
        self.end_headers()

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self._begin(status, len(content), headers)
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
        """Say nothing."""
