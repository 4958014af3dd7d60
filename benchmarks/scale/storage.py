"""The disk that a database takes, and its vector index built anew, with and without quantisation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.stack import Stack
from kg_api.graph.client import Graph
from kg_api.graph.schema import read_index_states
from kg_api.graph.spaces import Space, build_index_config, find_space

MIB = 2**20
QUANTIZATION = "vector.quantization.type"
POLL_SECONDS = 1.0
STEADY_SECONDS = 6.0
"""The service remembers for less than this which indexes are online."""


def disk_mb(running: Stack) -> dict[str, int]:
    """MiB of the database: whole, its logs of transactions, its indexes by their kind."""
    data = running.home.neo4j_data
    indexes = {"indexes: " + each.name: _size(each) for each in data.glob("databases/neo4j/schema/index/*")}
    told = {"whole": _size(data), "transaction logs": _size(data / "transactions"), **indexes}
    return {name: size // MIB for name, size in told.items()}


def rebuild(running: Stack, quantization: str | None) -> dict[str, Any]:
    """Drop the vector index of passages and build it anew; with None as kg makes it."""
    with running.graph() as graph:
        space = find_space(graph)
        graph.write("spaces/drop_index", name=space.index_name)
        _make(graph, space, quantization)
        begun = time.monotonic()
        while not read_index_states(graph)[space.index_name].online:
            time.sleep(POLL_SECONDS)
        seconds = time.monotonic() - begun
    time.sleep(STEADY_SECONDS)
    return {"build_seconds": round(seconds, 1), "disk_mb": disk_mb(running)}


def _make(graph: Graph, space: Space, quantization: str | None) -> None:
    config = build_index_config(space.identity)
    if quantization is not None:
        config[QUANTIZATION] = quantization
    options = {"indexConfig": config}
    graph.write("spaces/create_index", space.key, name=space.index_name, options=options)


def _size(place: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in place.rglob("*") if file.is_file())
