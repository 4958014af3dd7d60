"""Vectors and contexts that were made before, by a hash of all that went into them. Bounded; may be lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Transaction

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
    """As it was made; those that were remembered before ADR 61 are lists of numbers."""
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
