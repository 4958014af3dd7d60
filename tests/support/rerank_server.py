from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.behaviours import Drop, Raw, Status
from tests.support.told_server import Handler, Request, ToldServer

__all__ = ["Drip", "Drop", "Raw", "Request", "RerankServer", "Spoil", "Status", "share"]

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Drip:
    """Send the response one byte at a time, from the headers or the body, and do not stop."""

    head: bool = False
    every: float = 0.05


@dataclass(frozen=True)
class Spoil:
    """Change the right answer before it is sent."""

    how: Callable[[Any], Any]


Behaviour = Status | Drip | Drop | Raw | Spoil


class RerankServer(ToldServer[Behaviour]):
    """Server that listens on a free port of this machine until you leave the context."""

    def __init__(self, *, speaks_tei: bool = False) -> None:
        super().__init__(_Handler)
        self.speaks_tei = speaks_tei

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        """Return the response in rank order. If another protocol is used, return an error."""
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
    wanted = set(WORD.findall(query.lower()))
    return len(wanted & set(WORD.findall(text.lower()))) / len(wanted)


class _Handler(Handler):
    def reply(self) -> None:
        kg: RerankServer = self.server.kg
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = self.keep(body)
        right = kg.answer(self.path, body)
        told = right if isinstance(right, Status) else kg.next_behaviour(body)
        content = b"" if isinstance(right, Status) else json.dumps(right).encode()
        match told:
            case Status(status, retry_after):
                words = json.dumps({"message": f"{asked.headers.get('authorization')} {body}"}).encode()
                self.send(status, words, {"retry-after": retry_after} if retry_after else {})
            case Drip(head, every):
                self._drip(content, every, head=head)
            case Drop():
                self.begin(200, len(content), {})
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
            case Raw(other):
                self.send(200, other)
            case Spoil(how):
                self.send(200, json.dumps(how(right)).encode())
            case None:
                self.send(200, content)

    def _drip(self, content: bytes, every: float, *, head: bool) -> None:
        if not head:
            self.begin(200, len(content), {})
        for byte in (b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 10_000) if head else content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.kg.closing.wait(every):
                break
        self.close_connection = True
