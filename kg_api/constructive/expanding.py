"""Expanding: edges are followed from all nodes there are, hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from kg_api.constructive.progress import QueryProgress
from kg_api.constructive.working_set import WorkingEdge, WorkingNode
from kg_api.errors import TookTooLong
from kg_api.graph.database import Graph
from kg_api.graph.relations.search import resolve_types
from kg_api.graph.traversal.edges import (
    Follow,
    Following,
    NeighbouringNode,
    NeighbouringNodes,
    beside,
    concepts_of_sources,
    documents_of_sources,
    related,
    sources_of_concepts,
    sources_of_documents,
)
from kg_api.models.constructive.query import ExpandStep
from kg_api.models.constructive.subgraph import Cut, Reached
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_SUBGRAPH_EDGES, EdgeDirection, EdgeKind, NodeKind
from kg_api.wording.plural import pluralize

FRONTIER = 200
"""So many nodes are gone on from in one hop, the best ones."""
TYPES: Final[dict[EdgeKind, str]] = {
    "related_to": "related to",
    "appears_in": "appears in",
    "part_of": "part of",
    "next_to": "next to",
}


@dataclass(frozen=True, slots=True)
class Way:
    """Edges of a kind, from nodes of some kinds."""

    kind: EdgeKind
    start: tuple[NodeKind, ...]
    follow: Follow
    directions: frozenset[EdgeDirection]
    """Those in which a step may go for this to be followed."""


OUT: Final = frozenset[EdgeDirection]({"out", "both"})
IN: Final = frozenset[EdgeDirection]({"in", "both"})
SOURCES: Final[tuple[NodeKind, ...]] = ("passage", "image")
WAYS: Final = (
    Way("related_to", ("concept",), related, OUT | IN),
    Way("appears_in", ("concept",), sources_of_concepts, OUT),
    Way("appears_in", SOURCES, concepts_of_sources, IN),
    Way("part_of", SOURCES, documents_of_sources, OUT),
    Way("part_of", ("document",), sources_of_documents, IN),
    Way("next_to", SOURCES, beside, OUT | IN),
)


Reach = tuple[int, WorkingNode, WorkingEdge]
"""The place among the neighbours of its node, the node, and the edge that led to it."""


@dataclass(slots=True)
class _Hop:
    """What one hop of a step found, and what it left out."""

    number: int
    """Of the step."""
    progress: QueryProgress
    found: list[Reach] = field(default_factory=list[Reach])
    left_out: int = 0
    hubs: set[str] = field(default_factory=set[str])

    def gather(self, kind: EdgeKind, start: WorkingNode, around: NeighbouringNodes) -> None:
        """Take what is around a node, as far as the query sees it."""
        self.left_out += around.left_out
        if around.hub:
            self.hubs.add(start.id)
        hops = start.best.hops + 1
        for place, each in enumerate(around.found, start=1):
            way = Reached(step=self.number, hops=hops, along=kind, via=start.id, rank=place)
            node = WorkingNode(each.id, each.kind, each.ontology, each.document_id, [way])
            if self.progress.sees(node):
                self.found.append((place, node, _edge(kind, start.id, each, self.number)))

    def take(self, limit: int) -> int:
        """Add what was found in turns, the first neighbour of each node first; how many nodes are new."""
        in_turn = sorted(self.found, key=itemgetter(0))
        further = [each for each in in_turn if each[2].key not in self.progress.built.edges]
        added = self.progress.add(_in_order(further), limit)
        left_out = sum(not self.progress.connect(edge) for _, _, edge in in_turn)
        if left_out:
            effect = f"{pluralize(left_out, 'edge')} left out: a subgraph has at most {MAX_SUBGRAPH_EDGES}"
            self.progress.cut.append(Cut(by="edges", left_out=left_out, effect=effect))
        return added

    def note(self, fan_out: int) -> None:
        """Tell what was left out of what is around the nodes."""
        if self.left_out:
            what = pluralize(self.left_out, "edge")
            effect = f"{what} not followed: from one node at most {fan_out} of a kind are"
            self.progress.cut.append(Cut(by="fan_out", left_out=self.left_out, effect=effect))
        if self.hubs:
            what = pluralize(len(self.hubs), "node")
            effect = f"{what} with so many edges that not all were looked at: there may be better ones"
            self.progress.cut.append(Cut(by="hub", effect=effect))


class Expander:
    """Follows edges."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def expand(self, step: ExpandStep, number: int, progress: QueryProgress) -> int:
        """Add what edges lead to; how many nodes are new."""
        built, total = progress.built, 0
        how = self._how(step, progress)
        frontier = built.ranked()
        for hop in range(step.hops):
            if not frontier:
                break
            if progress.is_late:
                progress.note_late(f"{hop} of {pluralize(step.hops, 'hop')} followed")
                break
            before, cuts = frozenset(built.nodes), len(progress.cut)
            total += self._hop(step, how, _first(frontier, progress), _Hop(number, progress), total)
            if step.hops > 1:
                progress.cut[cuts:] = [_of_hop(each, hop + 1) for each in progress.cut[cuts:]]
            frontier = built.ranked(node for node in built.nodes.values() if node.id not in before)
        return total

    def _how(self, step: ExpandStep, progress: QueryProgress) -> Following:
        types = resolve_types(self._graph, sorted(progress.ontologies), step.types)
        if types.unknown:
            progress.note_degraded([Degradation(part="concepts", effect=types.unknown)])
        return Following(step.direction, step.fan_out, types.keys, progress.filters.document_ids)

    def _hop(
        self, step: ExpandStep, how: Following, frontier: Sequence[WorkingNode], hop: _Hop, taken: int
    ) -> int:
        try:
            for way in WAYS:
                if way.kind in step.along and step.direction in way.directions:
                    self._follow(way, how, frontier, hop)
        except TookTooLong as error:
            hop.progress.note_late("not all edges followed", error)
        hop.note(step.fan_out)
        return hop.take(step.limit - taken)

    def _follow(self, way: Way, how: Following, frontier: Sequence[WorkingNode], hop: _Hop) -> None:
        starts = {node.id: node for node in frontier if node.kind in way.start}
        around = way.follow(self._graph, list(starts), how) if starts else {}
        for identity, each in around.items():
            hop.gather(way.kind, starts[identity], each)


def _edge(kind: EdgeKind, start: str, each: NeighbouringNode, step: int) -> WorkingEdge:
    subject, target = (start, each.id) if each.outgoing else (each.id, start)
    return WorkingEdge(
        kind,
        subject,
        target,
        each.type or TYPES[kind],
        each.type_key,
        each.support,
        each.relation_ids,
        each.verified,
        [step],
    )


def _first(frontier: Sequence[WorkingNode], progress: QueryProgress) -> Sequence[WorkingNode]:
    if len(frontier) > FRONTIER:
        left_out = len(frontier) - FRONTIER
        effect = f"edges were followed from the best {FRONTIER} nodes only, not from {left_out} further ones"
        progress.cut.append(Cut(by="frontier", left_out=left_out, effect=effect))
    return frontier[:FRONTIER]


def _in_order(found: Sequence[Reach]) -> list[WorkingNode]:
    """Nodes with the place that each has among all, the same for each way to it."""
    places = dict[str, int]()
    nodes = [node for _, node, _ in found]
    for node in nodes:
        rank = places.setdefault(node.id, len(places) + 1)
        node.reached = [each.model_copy(update={"rank": rank}) for each in node.reached]
    return nodes


def _of_hop(cut: Cut, hop: int) -> Cut:
    return cut.model_copy(update={"effect": f"hop {hop}: {cut.effect}"})
