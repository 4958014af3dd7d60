"""Transactions that change documents are counted, so that what a filter chose is known to hold still."""

from __future__ import annotations

from typing import Final

from kg_api.graph.database import Graph

PRUNED_AT_ONCE: Final = 10_000


def prune_writes(graph: Graph) -> int:
    """Take away nodes that writes left, 10,000 at most; their number stays counted. How many went."""
    return graph.write("documents/prune_writes", limit=PRUNED_AT_ONCE)[0]["pruned"]
