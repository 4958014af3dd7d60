"""Communities of a weighted graph, level by level, by the Leiden algorithm. Pure, and the same each time.

Traag, Waltman, van Eck: From Louvain to Leiden: guaranteeing well-connected communities, Scientific Reports
2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from kg_api.communities.association import Matrix, Places
from kg_api.models.vocabulary import MAX_COMMUNITY_LEVEL

SEED: Final = 19
TRIALS: Final = 3
"""Runs of which the best counts: two seeds agree better so (ADR 79)."""
ITERATIONS: Final = 2
MAX_LEVELS: Final = MAX_COMMUNITY_LEVEL + 1


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes that belong together."""

    members: Places
    """Nodes of the whole graph, ascending."""
    level: int
    parent: int | None
    """The place, among all clusters, of the one that it is a part of."""


def find_clusters(weights: Matrix, *, max_size: int, min_size: int) -> list[Cluster]:
    """Cluster a graph; a cluster that is too large is clustered again by itself, with its own edges.

    Args:
        weights: nodes by nodes, CSR, symmetric, no diagonal.
        max_size: a cluster of more nodes is divided, four levels at most.
        min_size: a cluster of fewer is left out.

    Returns:
        A cluster before its parts; of one level and parent the larger first.
    """
    found: list[Cluster] = []
    waiting = [Cluster(np.arange(weights.shape[0], dtype=np.int64), -1, None)]
    for place, whole in enumerate(waiting):
        parts = _partition(weights, whole.members) if place == 0 or _is_too_large(whole, max_size) else []
        if place == 0 or len(parts) > 1:
            level, parent = whole.level + 1, place - 1 if place else None
            found += [Cluster(each, level, parent) for each in parts if len(each) >= min_size]
        waiting += found[len(waiting) - 1 :]
    return found


def modularity(weights: Matrix, labels: Places) -> float:
    """Of the weight of all edges the share within clusters, less what chance would have there.

    Newman: Modularity and community structure in networks, PNAS 2006.

    Args:
        weights: nodes by nodes, CSR, symmetric.
        labels: of each node its cluster, from 0.
    """
    edges = weights.tocoo()
    total = float(edges.data.sum())
    if not total:
        return 0.0
    degrees = np.bincount(labels, weights=np.asarray(weights.sum(axis=1)).ravel())
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    return inside / total - float(((degrees / total) ** 2).sum())


def _is_too_large(cluster: Cluster, max_size: int) -> bool:
    return len(cluster.members) > max_size and cluster.level + 1 < MAX_LEVELS


def _partition(weights: Matrix, members: Places) -> list[Places]:
    """The clusters of some nodes by the edges among them, the larger first; nothing where there are none."""
    import graspologic_native  # noqa: PLC0415 - only the job needs it

    edges = weights[members][:, members].tocsr()
    if not edges.nnz:
        return []
    edges.sort_indices()
    found: dict[int, int] = cast("Any", graspologic_native).leiden_csr(
        edges.indptr.astype(np.int64),
        edges.indices.astype(np.int32),
        edges.data.astype(np.float64),
        len(members),
        seed=SEED,
        trials=TRIALS,
        iterations=ITERATIONS,
    )[1]
    parts: dict[int, list[int]] = {}
    for node, cluster in sorted(found.items()):
        parts.setdefault(cluster, []).append(node)
    return [members[nodes] for nodes in sorted(parts.values(), key=lambda nodes: (-len(nodes), nodes[0]))]
