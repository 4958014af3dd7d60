"""Nodes and edges that the steps of a constructive query build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np

from kg_api.schemas.constructive import Reached
from kg_api.schemas.vocabulary import EdgeKind, NodeKind

EdgeKey = tuple[EdgeKind, str, str, str]  # kind, subject, normalized type, object


@dataclass(slots=True)
class WorkingNode:
    """Node with all paths that reach it."""

    id: str
    kind: NodeKind
    ontology: str
    document_id: str | None = None  # for a source or a document
    reached: list[Reached] = field(default_factory=list[Reached])
    score: float | None = None  # from the last rank step
    similarity: float | None = None

    @property
    def ways(self) -> list[Reached]:
        """Paths to the node, shortest and best first."""
        return sorted(self.reached, key=_get_distance_key)

    @property
    def best(self) -> Reached:
        return min(self.reached, key=_get_distance_key)


@dataclass(slots=True)
class WorkingEdge:
    kind: EdgeKind
    subject: str
    object: str
    type: str
    type_key: str = ""
    support: int = 1
    relation_ids: Sequence[str] = ()
    verified: bool = True
    steps: list[int] = field(default_factory=list[int])

    @property
    def key(self) -> EdgeKey:
        return self.kind, self.subject, self.type_key, self.object

    @property
    def ends(self) -> tuple[str, str]:
        return self.subject, self.object


class WorkingSet:
    """Subgraph that grows by seeds and expansion, and shrinks by filters and limits."""

    def __init__(self) -> None:
        self.nodes: dict[str, WorkingNode] = {}
        self.edges: dict[EdgeKey, WorkingEdge] = {}

    def add(self, node: WorkingNode) -> bool:
        """Add a node, or more paths to a known node, and return whether the node is new."""
        known = self.nodes.setdefault(node.id, node)
        known.reached += [each for each in node.reached if each not in known.reached]
        return known is node

    def connect(self, edge: WorkingEdge) -> bool:
        """Add an edge between known nodes, and return whether the edge is new."""
        known = self.edges.setdefault(edge.key, edge)
        known.steps += [each for each in edge.steps if each not in known.steps]
        known.verified = known.verified or edge.verified
        return known is edge

    def keep(self, fits: Callable[[WorkingNode], bool]) -> int:
        """Remove the nodes that do not fit, with their edges, and return their number."""
        return self.remove({node.id for node in self.nodes.values() if not fits(node)})

    def remove(self, gone: Collection[str]) -> int:
        """Remove nodes and their edges, and return the number of nodes."""
        for each in gone:
            del self.nodes[each]
        self.edges = {key: edge for key, edge in self.edges.items() if not {*edge.ends} & {*gone}}
        return len(gone)

    def rank(self, scores: Mapping[str, float]) -> None:
        """Set the scores of all nodes. `ranked` sorts nodes without a score last, nearest to a seed first."""
        for node in self.nodes.values():
            node.score = scores.get(node.id)

    def sort_nodes(self, nodes: Iterable[WorkingNode] | None = None) -> list[WorkingNode]:
        def get_sort_key(node: WorkingNode) -> tuple[float, int, int, int, str]:
            first = float("inf") if node.score is None else -node.score
            return first, *_get_distance_key(node.best), node.id

        return sorted(self.nodes.values() if nodes is None else nodes, key=get_sort_key)

    def list_kind(self, *kinds: NodeKind) -> list[WorkingNode]:
        return self.sort_nodes(node for node in self.nodes.values() if node.kind in kinds)


def _get_distance_key(way: Reached) -> tuple[int, int, int]:
    return way.hops, way.rank, way.step


DAMPING: Final = 0.85
"""Page, Brin, Motwani, Winograd: The PageRank Citation Ranking, Stanford 1999. The walk restarts at the seeds
(Haveliwala: Topic-Sensitive PageRank, WWW 2002).
"""
ROUNDS: Final = 100
ENOUGH: Final = 1e-9


def compute_pagerank(built: WorkingSet) -> dict[str, float]:
    """Return each node's share of a random walk, which follows edges both ways and restarts at the seeds."""
    ids = list(built.nodes)
    at = {identity: number for number, identity in enumerate(ids)}
    ends = {(at[one], at[other]) for edge in built.edges.values() for one, other in permutations(edge.ends)}
    start, end = np.array(sorted(ends), dtype=np.intp).reshape(-1, 2).T
    seeds = np.array([float(built.nodes[each].best.hops == 0) for each in ids])
    restart = seeds / seeds.sum() if seeds.any() else np.full(len(ids), 1 / len(ids))
    degrees = np.bincount(start, minlength=len(ids))
    share = restart
    for _ in range(ROUNDS):
        handed_on = np.bincount(end, share[start] / degrees[start], len(ids))
        stuck = share[degrees == 0].sum()
        after = DAMPING * (handed_on + stuck * restart) + (1 - DAMPING) * restart
        moved, share = np.abs(after - share).sum(), after
        if moved < ENOUGH:
            break
    return dict(zip(ids, share.tolist(), strict=True))


def count_connections(built: WorkingSet) -> dict[str, float]:
    """Count edges of each node, by id."""
    counted = Counter(end for edge in built.edges.values() for end in edge.ends)
    return {identity: float(counted[identity]) for identity in built.nodes}
