"""Vectors and contexts that were made before, by a hash of all that went into them. Bounded; may be lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.client import Graph, Transaction

PACKED = "packed:"
"""Before the key of a vector that is remembered as bytes: no statement calculates with it, and numbers take
twice as long to read. An older kg, which knows lists only, does not find it."""
NUMBERS = "<f4"
CONTEXTS_KEPT = 1_000_000
"""They were paid for, and are short."""


def read_vectors(graph: Graph, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Those of the vectors that are known, by key."""
    rows = graph.read("cache/read_vectors", keys=_stored_keys(keys))
    return {row["key"].removeprefix(PACKED): _vector_of(row["vector"]) for row in rows}


def remember_vectors(graph: Graph, new: Mapping[str, NDArray[np.float32]], used: Sequence[str]) -> None:
    """Keep new vectors, and note that others were used again."""
    if new:
        vectors = {PACKED + key: vector.astype(NUMBERS).tobytes() for key, vector in sorted(new.items())}
        rows = [{"key": key, "vector": vector} for key, vector in vectors.items()]
        graph.write("cache/write_vectors", rows=rows)
    if used:
        graph.write("cache/touch_vectors", keys=_stored_keys(sorted(used)))


def _stored_keys(keys: Sequence[str]) -> list[str]:
    """Under which a vector may be found: what is packed comes last, so that it counts."""
    return [*keys, *(PACKED + key for key in keys)]


def _vector_of(stored: bytes | list[float]) -> NDArray[np.float32]:
    """As it was made; those that were remembered before ADR 42 are lists of numbers."""
    if isinstance(stored, list):
        return np.asarray(stored, dtype=np.float32)
    return np.frombuffer(stored, dtype=NUMBERS).astype(np.float32)


def read_contexts(graph: Graph, keys: Sequence[str]) -> dict[str, str]:
    """Those of the contexts that are known, by key."""
    return {row["key"]: row["text"] for row in graph.write("cache/read_contexts", keys=sorted(keys))}


def remember_contexts(graph: Graph, new: Mapping[str, str]) -> None:
    graph.transaction(lambda tx: write_contexts(tx, new))


def write_contexts(tx: Transaction, new: Mapping[str, str]) -> None:
    """Keep new contexts, or other answers of a language model, within the caller's transaction."""
    tx.run("cache/write_contexts", rows=[{"key": key, "text": text} for key, text in sorted(new.items())])


def prune_cache(graph: Graph, bound: int) -> int:
    """Forget the least recently used vectors beyond `bound`, and contexts, at most 5,000 each; how many."""
    vectors = graph.write("cache/prune_vectors", bound=bound)[0]["pruned"]
    return vectors + graph.write("cache/prune_contexts", bound=CONTEXTS_KEPT)[0]["pruned"]


# Requests that may come twice: of those with one key one is carried out, the others get its answer.

KEPT_HOURS = 24
MAX_KEY_LENGTH = 255
"""Characters."""
MAX_CALLER_LENGTH = 20
"""Of what may stand before it."""

Answer = dict[str, Any]


def once(tx: Transaction, key: str, request_hash: str, make: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Carry out a request unless one with its key was in the last 24 hours; (its answer, whether it was now).

    Args:
        tx: the transaction in which all that the request changes is changed.
        key: what the caller sent, such as an Idempotency-Key; with the caller's name before it, if any.
        request_hash: of all that the request says, and what is asked for.
        make: does it within the transaction; its answer goes through JSON.

    Raises:
        Conflict: the key belongs to another request.
        InvalidInput: it is empty or too long.
    """
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
    """Forget answers older than 24 hours, at most 10,000 a call; how many."""
    return graph.write("idempotency/forget_old", hours=KEPT_HOURS)[0]["forgotten"]
