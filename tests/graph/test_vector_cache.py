"""Vectors that are remembered: what comes back is what was made, to the bit, whoever kept it."""

from __future__ import annotations

import numpy as np

from kg_api.graph.cache import prune_cache, read_vectors, remember_vectors
from kg_api.graph.client import Graph

MADE = {
    str(number): vector
    for number, vector in enumerate(np.random.default_rng(3).standard_normal((5, 1536)).astype(np.float32))
}


def test_remembered_vectors_come_back_to_the_bit(graph: Graph) -> None:
    remember_vectors(graph, MADE, [])
    known = read_vectors(graph, [*MADE, "unknown"])
    assert {key: vector.tobytes() for key, vector in known.items()} == {
        key: vector.tobytes() for key, vector in MADE.items()
    }
    assert all(vector.dtype == np.float32 and vector.flags.writeable for vector in known.values())


def test_what_is_used_again_is_forgotten_last(graph: Graph) -> None:
    remember_vectors(graph, MADE, [])
    remember_vectors(graph, {}, ["3"])
    prune_cache(graph, 1)
    assert [*read_vectors(graph, [*MADE])] == ["3"]
