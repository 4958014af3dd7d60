"""Vectors that are remembered: what comes back is what was made, to the bit, whoever kept it."""

from __future__ import annotations

import neo4j
import numpy as np

from kg_api.graph.cache import prune_cache, read_vectors, remember_vectors
from kg_api.graph.client import Graph
from tests.support.cypher import rows

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


def test_what_an_older_kg_remembered_counts(graph: Graph, driver: neo4j.Driver) -> None:
    """It kept lists of numbers; what is made anew is kept as bytes, beside it."""
    old = {key: vector.tolist() for key, vector in MADE.items()}
    rows(
        driver,
        "CYPHER 25 UNWIND keys($old) AS key CREATE (v:CachedVector {key: key, used_at: datetime.realtime()}) "
        "WITH v, $old[key] AS vector CALL db.create.setNodeVectorProperty(v, 'vector', vector) "
        "RETURN count(*) AS n",
        old=old,
    )
    known = read_vectors(graph, [*MADE])
    assert all(known[key].tobytes() == vector.tobytes() for key, vector in MADE.items())
    assert len(known) == len(MADE)
    remember_vectors(graph, {"0": MADE["1"]}, [])
    assert read_vectors(graph, ["0"])["0"].tobytes() == MADE["1"].tobytes()
    lists = rows(driver, "MATCH (v:CachedVector) WHERE v.key = '0' RETURN v.vector AS vector")
    assert lists == [{"vector": old["0"]}], "an older kg that comes back finds what it can read"


def test_what_is_used_again_is_forgotten_last(graph: Graph) -> None:
    remember_vectors(graph, MADE, [])
    remember_vectors(graph, {}, ["3"])
    prune_cache(graph, 1)
    assert [*read_vectors(graph, [*MADE])] == ["3"]
