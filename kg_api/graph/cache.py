"""Bounded caches of vectors and contexts, by a hash of their inputs, and idempotent requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.client import Graph, Transaction

PACKED = "packed:"  # prefix of the keys of vectors
NUMBERS = "<f4"
CONTEXTS_KEPT = 1_000_000  # large because contexts cost money and are short


def read_vectors(graph: Graph, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    rows = graph.read("cache/read_vectors", keys=[PACKED + key for key in keys])
    return {
        row["key"].removeprefix(PACKED): np.frombuffer(row["vector"], dtype=NUMBERS).astype(np.float32)
        for row in rows
    }


def store_vectors(graph: Graph, new: Mapping[str, NDArray[np.float32]], used: Sequence[str]) -> None:
    if new:  # bytes, because reading numbers takes twice as long
        vectors = {PACKED + key: vector.astype(NUMBERS).tobytes() for key, vector in sorted(new.items())}
        rows = [{"key": key, "vector": vector} for key, vector in vectors.items()]
        graph.write("cache/write_vectors", rows=rows)
    if used:
        graph.write("cache/touch_vectors", keys=[PACKED + key for key in sorted(used)])


def read_contexts(graph: Graph, keys: Sequence[str]) -> dict[str, str]:
    return {row["key"]: row["text"] for row in graph.write("cache/read_contexts", keys=sorted(keys))}


def store_contexts(graph: Graph, new: Mapping[str, str]) -> None:
    graph.transaction(lambda tx: write_contexts(tx, new))


def write_contexts(tx: Transaction, new: Mapping[str, str]) -> None:
    """Store new contexts, or other responses of a language model, in the caller's transaction."""
    tx.run("cache/write_contexts", rows=[{"key": key, "text": text} for key, text in sorted(new.items())])


def prune_cache(graph: Graph, bound: int) -> int:
    """Delete the least recently used vectors beyond `bound`, and old contexts. Return their number."""
    vectors = graph.write("cache/prune_vectors", bound=bound)[0]["pruned"]
    return vectors + graph.write("cache/prune_contexts", bound=CONTEXTS_KEPT)[0]["pruned"]


# Idempotent requests: kg processes the first request with a key, and repeats return its response

KEPT_HOURS = 24
MAX_KEY_LENGTH = 255
MAX_CALLER_LENGTH = 20

Answer = dict[str, Any]


def process_once(
    tx: Transaction, key: str, request_hash: str, make: Callable[[], Answer]
) -> tuple[Answer, bool]:
    """Process a request once per key in 24 hours. Return the response, and whether it is new."""
    if not 0 < len(key) <= MAX_KEY_LENGTH + MAX_CALLER_LENGTH:
        raise InvalidInput(
            f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters, this one has {len(key)}"
        )
    row = tx.run("idempotency/hold", key=key, request_hash=request_hash, hours=KEPT_HOURS)[0]
    if row["request_hash"] != request_hash:
        raise Conflict(
            f"the Idempotency-Key was sent with another request in the last {KEPT_HOURS} hours. Send this "
            "request with a new key"
        )
    if row["answer"] is not None:
        return json.loads(row["answer"]), False
    answer = make()
    tx.run("idempotency/keep", key=key, answer=json.dumps(answer))
    return answer, True


def delete_old_answers(graph: Graph) -> int:
    return graph.write("idempotency/forget_old", hours=KEPT_HOURS)[0]["forgotten"]
