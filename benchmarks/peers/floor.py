"""The smallest service that answers a hybrid search from kg's own indexes, over HTTP.

One statement for both retrievers, reciprocal rank fusion, one statement for the ten hits that are shown. It
has no filters, keys, notes or fallbacks: its cost is the floor under any service on these indexes. Settings
come as one JSON object in FLOOR.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
from neo4j.vector import Vector
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from benchmarks.peers.embedder import SameEmbedder
from kg_api.providers.embedding_port import ModelSpec

LIMIT = 10
RRF_K = 60
MAX_WORDS = 20
FIND = """CYPHER 25
CALL () {
  MATCH (n:Source|Chunk) SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector LIMIT 30) SCORE AS score
  RETURN n.source_id AS id, 0 AS retriever
  UNION ALL
  CALL db.index.fulltext.queryNodes('source_words', $words, {limit: 30}) YIELD node, score
  RETURN node.source_id AS id, 1 AS retriever
}
RETURN collect([id, retriever]) AS found"""
SHOW = """CYPHER 25
UNWIND $ids AS id MATCH (s:Source {source_id: id})
RETURN collect({source_id: s.source_id, full_text: s.full_text, document: s.document, heading: s.heading,
                paragraph: s.paragraph, start: s.start, end: s.end}) AS shown"""
_WORD = re.compile(r"\w+")


@cache
def _open() -> tuple[neo4j.Driver, SameEmbedder]:
    given: dict[str, Any] = json.loads(os.environ["FLOOR"])
    driver = neo4j.GraphDatabase.driver(given["bolt"], auth=("neo4j", given["password"]))
    spec = TypeAdapter(ModelSpec).validate_python(given["spec"])
    return driver, SameEmbedder(Path(given["model"]), spec)


@lru_cache(10_000)
def _embed(question: str) -> list[float]:
    return _open()[1].question(question)


def query(question: str) -> str:
    """Any of the words, as a full-text query."""
    return " ".join(f'"{word}"' for word in _WORD.findall(question)[:MAX_WORDS])


def _fuse(found: list[tuple[str, int]]) -> list[str]:
    scores: dict[str, float] = {}
    ranks = [0, 0]
    for identity, retriever in found:
        ranks[retriever] += 1
        scores[identity] = scores.get(identity, 0) + 1 / (RRF_K + ranks[retriever])
    return sorted(scores, key=scores.__getitem__, reverse=True)[:LIMIT]


def _answer(body: bytes) -> bytes:
    asked = from_json(body)
    vector = np.asarray(asked.get("query_vector") or _embed(asked["query_text"]), np.float32)
    words = query(asked["query_text"])
    with _open()[0].session(default_access_mode=neo4j.READ_ACCESS) as session:
        (found,) = session.run(FIND, vector=Vector.from_numpy(vector), words=words).values()[0]
        (shown,) = session.run(SHOW, ids=_fuse(found)).values()[0]
    return to_json({"sources": shown})


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request (ASGI)."""
    if scope["type"] == "lifespan":
        _open()
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    answer = await asyncio.to_thread(_answer, body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
