import json
import re
from typing import Any

from tests.support.behaviours import Status
from tests.support.told_server import Handler, ToldServer

WORD = re.compile(r"\w+")


class RerankServer(ToldServer):
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
        self.asked = self.keep(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        right = kg.answer(self.path, self.asked.body)
        self.behave(right if isinstance(right, Status) else kg.next_behaviour(self.asked.body), right)

    def describe(self, told: Status) -> object:
        del told
        return {"message": f"{self.asked.headers.get('authorization')} {self.asked.body}"}
