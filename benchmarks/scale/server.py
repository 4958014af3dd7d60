"""A server with OpenAI's interface, which gives each text the mixed vector of what it is made of.

The vector of a text is the mean of the vectors of those real passages that its sentences come from, by words,
with a little noise that is the text's own; a real question has its real vector. Nothing is kept between
requests, so it may be started anew in the middle of a run.

python -m benchmarks.scale.server SEEDS    prints its port
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.scale.seeds import Seeds, Vectors, load, sentences

NOISE = 0.3
"""Length of the noise beside a vector of length 1."""
NOISES = 4096
_NUMBER = re.compile(r"\d+")


class Mixer:
    """Texts to vectors."""

    def __init__(self, seeds: Seeds) -> None:
        passages = [passage for document in seeds.documents for passage in document]
        self._passages = {_key(each): at for at, passage in enumerate(passages) for each in passage}
        self._vectors = seeds.passage_vectors
        known = (*zip(seeds.questions, seeds.question_vectors, strict=True),)
        self._known = dict((*known, *zip(seeds.others, seeds.other_vectors, strict=True)))
        noise = np.random.default_rng(7).standard_normal((NOISES, self.dimensions), dtype=np.float32)
        self._noise = noise / np.linalg.norm(noise, axis=1, keepdims=True)

    @property
    def dimensions(self) -> int:
        """Of all vectors."""
        return self._vectors.shape[1]

    def vector(self, text: str) -> Vectors:
        """The vector of a text, of length 1."""
        found = self._known.get(text)
        return self._mixed(text) if found is None else found

    def _mixed(self, text: str) -> Vectors:
        shares = dict[int, int]()
        for sentence in sentences(text):
            if (at := self._passages.get(_key(sentence))) is not None:
                shares[at] = shares.get(at, 0) + len(sentence)
        digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
        first, second = int.from_bytes(digest[:2]) % NOISES, int.from_bytes(digest[2:]) % NOISES
        both = self._noise[first] + self._noise[second] * np.float32(0.7)
        noise = _unit(both.astype(np.float32))
        if not shares:
            return noise
        weights = np.fromiter(shares.values(), dtype=np.float32)
        mean = (weights @ self._vectors[list(shares)]).astype(np.float32)
        return _unit((_unit(mean) + noise * np.float32(NOISE)).astype(np.float32))


class Handler(BaseHTTPRequestHandler):
    """POST .../embeddings."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    mixer: ClassVar[Mixer]

    def do_POST(self) -> None:
        """Answer all texts of a request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        told = [self._told(at, text) for at, text in enumerate(texts)]
        tokens = sum(map(len, texts)) // 4 + 1
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._answer({"object": "list", "data": told, "model": asked["model"], "usage": usage})

    def _told(self, at: int, text: str) -> dict[str, Any]:
        vector = base64.b64encode(self.mixer.vector(text).astype("<f4").tobytes()).decode()
        return {"object": "embedding", "index": at, "embedding": vector}

    def _answer(self, told: dict[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so does it this
        """Say nothing."""


def _key(sentence: str) -> str:
    """Numbers are varied; with the same signs in their place a sentence is known again."""
    return _NUMBER.sub("#", sentence)


def _unit(vector: Vectors) -> Vectors:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def main() -> None:
    """Serve until it is ended."""
    Handler.mixer = Mixer(load(Path(sys.argv[1]), Path(), 0))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
