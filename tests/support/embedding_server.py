"""HTTP server with the APIs of OpenAI and Nomic that can fail in every way.

    with EmbeddingServer() as server:
        server.then(Status(429, retry_after="1"), Status(503))  # for the next two requests
        ...  OPENAI_BASE_URL=server.openai_url, NOMIC_BASE_URL=server.url ...
        assert [each.path for each in server.requests] == ["/v1/embeddings"] * 3

`python -m tests.support.embedding_server PORT` runs a server that never fails.
"""

import base64
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from kg_api.providers.embedding import DeterministicEmbedder
from tests.support.behaviours import Status
from tests.support.embedders import calibrates
from tests.support.told_server import Handler, Request, ToldServer

__all__ = ["EmbeddingServer", "Request"]

NATIVE = {"text-embedding-3-large": 3072, "nomic-embed-text-v1.5": 768, "nomic-embed-text-v1": 768}
USUAL = 1536


PIECE = re.compile(r".{1,12}", re.DOTALL)


class Wire(Protocol):
    def write(self, content: bytes, /) -> Any: ...

    def flush(self) -> None: ...


def stream(wire: Wire, right: dict[str, Any], pause: float, *, usage: bool) -> None:
    """Write the response as events, and wait before each of them. If the client has requested it, the
    last one contains the usage."""
    used = right.pop("usage", None)
    said = right["choices"][0]["message"]["content"]
    for piece in PIECE.findall(said):
        time.sleep(pause)
        _event(wire, right, {"index": 0, "delta": {"content": piece}, "finish_reason": None})
    _event(wire, right, {"index": 0, "delta": {}, "finish_reason": "stop"})
    if usage:
        _event(wire, {**right, "usage": used})
    wire.write(b"data: [DONE]\n\n")
    wire.flush()


def _event(wire: Wire, right: dict[str, Any], *choices: dict[str, Any]) -> None:
    chunk = {**right, "object": "chat.completion.chunk", "choices": list(choices)}
    wire.write(f"data: {json.dumps(chunk)}\n\n".encode())
    wire.flush()


class Load:
    def __init__(self, wait: Callable[[float], None]) -> None:
        self.takes: Callable[[dict[str, Any]], float] = lambda _: 0.0
        """Function to get the number of seconds to wait from the body of a request."""
        self.at_once: list[int] = []
        """Number of requests that were running at once, for each request."""
        self._wait = wait
        self._under_way = 0
        self._counting = threading.Lock()

    @contextmanager
    def of(self, body: dict[str, Any]) -> Generator[None]:
        """Count a request while it is running, and wait as long as it should take."""
        with self._counting:
            self._under_way += 1
            self.at_once.append(self._under_way)
        try:
            self._wait(self.takes(body))
            yield
        finally:
            with self._counting:
                self._under_way -= 1


class EmbeddingServer(ToldServer):
    """Server that listens on a free port of this machine until you leave the context."""

    def __init__(
        self, port: int = 0, *, knows_base64: bool = True, dimensions: dict[str, int] | None = None
    ) -> None:
        super().__init__(_Handler, port)
        self.knows_base64 = knows_base64
        self.dimensions = {**NATIVE, **(dimensions or {})}
        self.chat: Callable[[dict[str, Any]], str] = lambda body: f"echo: {body['messages'][-1]['content']}"
        """Makes the answer to a chat."""
        self.shortens = True
        self.streams = True
        """Whether the response to a chat can be streamed."""
        self.tells_usage = True
        """Whether to send the number of tokens at the end of a stream if this is requested."""
        self.takes_stream_options = True
        """Whether the server can use schemas. If not, it rejects a chat with a schema."""
        self.pause = 0.0
        self.load = Load(self.hang)

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def waits(self) -> list[float]:
        times = [each.at for each in self.requests]
        return [after - before for before, after in pairwise(times)]

    def parse(self, content_type: str, content: bytes) -> dict[str, Any]:  # noqa: ARG002 - it is JSON
        return json.loads(content)

    def hang(self, seconds: float) -> None:
        self.closing.wait(seconds)

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        answers = {
            "/v1/embeddings": self._openai,
            "/v1/embedding/text": self._nomic,
            "/v1/chat/completions": self._chat,
        }
        return answers[path](body) if path in answers else None

    def vectors(self, model: str, texts: list[str], dimensions: int | None) -> list[list[float]]:
        """Return the vectors for texts. Their length is 3, so that you can see if they are normalized."""
        size = dimensions or self.dimensions.get(model, USUAL)
        embedder = DeterministicEmbedder(size, max_tokens=100_000)
        return (embedder.embed_passages(texts) * np.float32(3)).tolist()

    def _openai(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        found = self.vectors(body["model"], texts, body.get("dimensions") if self.shortens else None)
        packed = body.get("encoding_format") == "base64" and self.knows_base64
        data = [
            {"object": "embedding", "index": i, "embedding": _base64(each) if packed else each}
            for i, each in enumerate(found)
        ]
        return {"object": "list", "data": data, "model": body["model"], "usage": _usage(texts)}

    def _nomic(self, body: dict[str, Any]) -> dict[str, Any]:
        prefixed = [f"{body['task_type']}: {text}" for text in body["texts"]]
        found = self.vectors(body["model"], prefixed, body.get("dimensionality"))
        return {"embeddings": found, "usage": _usage(prefixed), "model": body["model"]}

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        said = self.chat(body)
        read = sum(len(str(each["content"]).split()) for each in body["messages"])
        wrote = len(said.split())
        return {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
            ],
            "usage": {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote},
        }


class _Handler(Handler):
    def reply(self) -> None:
        kg: EmbeddingServer = self.server.kg
        body = kg.parse(self.headers["content-type"], self.rfile.read(int(self.headers["content-length"])))
        if calibrates(body.get("texts") or body.get("input") or ()):
            self.send_json(200, kg.answer(self.path, body) or {})
            return
        self.keep(body)
        with kg.load.of(body):
            self._answer(kg, body)

    def _answer(self, kg: EmbeddingServer, body: dict[str, Any]) -> None:
        right = kg.answer(self.path, body)
        told = kg.next_behaviour(body) if right is not None else Status(404)
        if "stream_options" in body and not kg.takes_stream_options:
            told = Status(400)
        if told is None and kg.streams and body.get("stream"):
            self.begin(200, None, {"content-type": "text/event-stream"})
            self.close_connection = True
            usage = kg.tells_usage and (body.get("stream_options") or {}).get("include_usage") is True
            stream(self.wfile, right or {}, kg.pause, usage=usage)
        else:
            self.behave(told, right)

    def describe(self, told: Status) -> object:
        if self.path.startswith("/v1/embedding/"):
            return {"detail": told.message}
        return {
            "error": {"message": told.message, "type": "told_error", "code": told.code, "param": told.param}
        }


def _base64(vector: list[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def _usage(texts: list[str]) -> dict[str, int]:
    words = sum(len(text.split()) for text in texts)
    return {"prompt_tokens": words, "total_tokens": words}


if __name__ == "__main__":
    with EmbeddingServer(int(sys.argv[1])) as running:
        print(running.url, flush=True)  # noqa: T201 - for whoever started it
        threading.Event().wait()
