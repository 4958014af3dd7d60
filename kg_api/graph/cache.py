"""Vectors and contexts that were made before, by a hash of all that went into them. Bounded; may be lost."""

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
CONTEXTS_KEPT = 1_000_000  # they were paid for, and are short


def read_vectors(graph: Graph, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    rows = graph.read("cache/read_vectors", keys=[PACKED + key for key in keys])
    return {
        row["key"].removeprefix(PACKED): np.frombuffer(row["vector"], dtype=NUMBERS).astype(np.float32)
        for row in rows
    }


def remember_vectors(graph: Graph, new: Mapping[str, NDArray[np.float32]], used: Sequence[str]) -> None:
    if new:  # as bytes: numbers take twice as long to read
        vectors = {PACKED + key: vector.astype(NUMBERS).tobytes() for key, vector in sorted(new.items())}
        rows = [{"key": key, "vector": vector} for key, vector in vectors.items()]
        graph.write("cache/write_vectors", rows=rows)
    if used:
        graph.write("cache/touch_vectors", keys=[PACKED + key for key in sorted(used)])


def read_contexts(graph: Graph, keys: Sequence[str]) -> dict[str, str]:
    return {row["key"]: row["text"] for row in graph.write("cache/read_contexts", keys=sorted(keys))}


def remember_contexts(graph: Graph, new: Mapping[str, str]) -> None:
    graph.transaction(lambda tx: write_contexts(tx, new))


def write_contexts(tx: Transaction, new: Mapping[str, str]) -> None:
    """Keep new contexts, or other answers of a language model, within the caller's transaction."""
    tx.run("cache/write_contexts", rows=[{"key": key, "text": text} for key, text in sorted(new.items())])


def prune_cache(graph: Graph, bound: int) -> int:
    """Delete the least recently used vectors beyond `bound`, and old contexts; return how many."""
    vectors = graph.write("cache/prune_vectors", bound=bound)[0]["pruned"]
    return vectors + graph.write("cache/prune_contexts", bound=CONTEXTS_KEPT)[0]["pruned"]


# Requests that may come twice: of those with one key one is carried out, the others get its answer.

KEPT_HOURS = 24
MAX_KEY_LENGTH = 255
MAX_CALLER_LENGTH = 20

Answer = dict[str, Any]


def once(tx: Transaction, key: str, request_hash: str, make: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Carry out a request, once for a key in 24 hours; return its answer, and whether it was now."""
    if not 0 < len(key) <= MAX_KEY_LENGTH + MAX_CALLER_LENGTH:
        raise InvalidInput(
            f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters, this one has {len(key)}"
        )
    row = tx.run("idempotency/hold", key=key, request_hash=request_hash, hours=KEPT_HOURS)[0]
    if row["request_hash"] != request_hash:
        raise Conflict(
            f"the Idempotency-Key {key!r} was sent with another request in the last {KEPT_HOURS} hours: "
            "send this one with a new key"
        )
    if row["answer"] is not None:
        return json.loads(row["answer"]), False
    answer = make()
    tx.run("idempotency/keep", key=key, answer=json.dumps(answer))
    return answer, True


def forget_old_answers(graph: Graph) -> int:
    return graph.write("idempotency/forget_old", hours=KEPT_HOURS)[0]["forgotten"]
