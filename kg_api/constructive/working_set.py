"""The nodes and edges that the steps of a query have built so far. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kg_api.models.constructive.subgraph import Reached
from kg_api.models.vocabulary import EdgeKind, NodeKind

EdgeKey = tuple[EdgeKind, str, str, str]
"""Kind, subject, key of the type, object."""


@dataclass(slots=True)
class WorkingNode:
    """A node, once, however often it was reached."""

    id: str
    kind: NodeKind
    ontology: str
    document_id: str | None = None
    """Of a source or a document."""
    reached: list[Reached] = field(default_factory=list[Reached])
    score: float | None = None
    """By the last rank step."""
    similarity: float | None = None

    @property
    def best(self) -> Reached:
        """The nearest and best way to it."""
        return min(self.reached, key=_nearest)

    @property
    def ways(self) -> list[Reached]:
        """All ways to it, the nearest and best first."""
        return sorted(self.reached, key=_nearest)


@dataclass(slots=True)
class WorkingEdge:
    """An edge, once."""

    kind: EdgeKind
    subject: str
    object: str
    type: str
    type_key: str = ""
    support: int = 1
    relation_ids: tuple[str, ...] = ()
    verified: bool = True
    steps: list[int] = field(default_factory=list[int])

    @property
    def key(self) -> EdgeKey:
        return self.kind, self.subject, self.type_key, self.object

    @property
    def ends(self) -> tuple[str, str]:
        return self.subject, self.object


class WorkingSet:
    """Grows by seeds and expanding, shrinks by filters and limits; always a whole graph."""

    def __init__(self) -> None:
        self.nodes: dict[str, WorkingNode] = {}
        self.edges: dict[EdgeKey, WorkingEdge] = {}

    def add(self, node: WorkingNode) -> bool:
        """Take a node in, or the further ways to one that is there; whether it is new."""
        known = self.nodes.get(node.id)
        if known is None:
            self.nodes[node.id] = node
            return True
        known.reached += [each for each in node.reached if each not in known.reached]
        return False

    def connect(self, edge: WorkingEdge) -> bool:
        """Take an edge in between nodes that are there; whether it is new."""
        known = self.edges.setdefault(edge.key, edge)
        known.steps += [each for each in edge.steps if each not in known.steps]
        known.verified = known.verified or edge.verified
        return known is edge

    def keep(self, fits: Callable[[WorkingNode], bool]) -> int:
        """Leave out nodes that do not fit, and their edges; how many went."""
        gone = {node.id for node in self.nodes.values() if not fits(node)}
        return self.remove(gone)

    def remove(self, gone: Collection[str]) -> int:
        """Leave out some nodes and their edges; how many went."""
        for each in gone:
            del self.nodes[each]
        self.edges = {key: edge for key, edge in self.edges.items() if not {*edge.ends} & {*gone}}
        return len(gone)

    def rank(self, scores: Mapping[str, float]) -> None:
        """Order by scores, the highest first; a node without one comes behind, as near as it is to a seed."""
        for node in self.nodes.values():
            node.score = scores.get(node.id)

    def ranked(self, nodes: Iterable[WorkingNode] | None = None) -> list[WorkingNode]:
        """All nodes, or some, the best first."""
        return sorted(self.nodes.values() if nodes is None else nodes, key=self._place)

    def of(self, *kinds: NodeKind) -> list[WorkingNode]:
        """The nodes of some kinds, the best first."""
        return self.ranked(node for node in self.nodes.values() if node.kind in kinds)

    def _place(self, node: WorkingNode) -> tuple[float, int, int, int, str]:
        first = float("inf") if node.score is None else -node.score
        return first, *_nearest(node.best), node.id


def _nearest(way: Reached) -> tuple[int, int, int]:
    return way.hops, way.rank, way.step
