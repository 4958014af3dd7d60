"""The steps of a constructive query: seeds, expansion along edges, filters, limits and orders."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from operator import itemgetter
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.network import ID
from kg_api.concepts.relations import RelationshipSearcher
from kg_api.concepts.search import (
    ConceptQuery,
    ConceptService,
    question,
    reciprocal_rank_fusion,
    start_embedding,
)
from kg_api.errors import InvalidInput, NotFound, TookTooLong
from kg_api.graph.client import Graph
from kg_api.graph.concepts import find_concept
from kg_api.graph.filters import RememberedFilters
from kg_api.graph.library import find_source
from kg_api.graph.relation_search import resolve_types
from kg_api.graph.search import Filters, nearness_of_concepts
from kg_api.graph.similar import vectors_of
from kg_api.graph.traversal import (
    Follow,
    Following,
    NeighbouringNode,
    NeighbouringNodes,
    Triple,
    beside,
    concepts_of_sources,
    concepts_within,
    documents_of_sources,
    related,
    sources_of_concepts,
    sources_of_documents,
    stated_within,
)
from kg_api.schemas.base import ID_DIGITS, concept_name
from kg_api.schemas.concepts import Concept, RelationshipHit, RelationshipSearch, nearest_labels
from kg_api.schemas.constructive import (
    ConstructiveQuery,
    Cut,
    ExpandStep,
    FilterStep,
    LimitStep,
    RankStep,
    Reached,
    SeedStep,
)
from kg_api.schemas.filters import Clause
from kg_api.schemas.search import Degradation, Place, SourceSearch
from kg_api.schemas.vocabulary import (
    MAX_ONTOLOGIES,
    MAX_SUBGRAPH_EDGES,
    MAX_SUBGRAPH_NODES,
    EdgeDirection,
    EdgeKind,
    NodeKind,
    SeedKind,
    SubgraphOrder,
)
from kg_api.search.scope import choose
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot
from kg_api.wording import pluralize

# The nodes and edges that the steps of a query have built so far. Pure.

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


# One query while it is done: what its steps see, what they have built, and what they left out.


@dataclass(slots=True)
class QueryProgress:
    """Shared by the steps of one query."""

    query: ConstructiveQuery
    known: OntologySnapshot
    """All ontologies."""
    ontologies: frozenset[str]
    """Those there are of the ones that the query sees."""
    filters: Filters
    """What all steps see."""
    until: float
    """When nothing more is to be searched, by the monotonic clock."""
    document_ids: frozenset[str] | None = None
    """Those of `filters`, to look one up."""
    built: WorkingSet = field(default_factory=WorkingSet)
    cut: list[Cut] = field(default_factory=list[Cut])
    """By the present step."""
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    unseen: list[str] = field(default_factory=list[str])
    """Why there is nothing to search, or nothing was found."""
    unfitting: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """By the number of a filter that no document fits, why."""

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def note_late(self, what: str, error: TookTooLong | None = None) -> None:
        """Tell what was not done: the query's time was up, or a statement of the database took too long."""
        over = f"the query's {self.query.seconds:g} s were over"
        effect = f"{what}: {over if error is None or self.is_late else error}"
        self.cut.append(Cut(by="time", effect=effect))

    def sees(self, node: WorkingNode) -> bool:
        """Whether the query is about a node's ontology and document."""
        if node.ontology not in self.ontologies:
            return False
        ids = self.document_ids
        return ids is None or node.document_id is None or node.document_id in ids

    def add(self, nodes: Sequence[WorkingNode], limit: int) -> int:
        """Take nodes in, the new ones up to a limit and as many as a subgraph may have; how many are new."""
        room = MAX_SUBGRAPH_NODES - len(self.built.nodes)
        new = list(dict.fromkeys(each.id for each in nodes if each.id not in self.built.nodes))
        taken = {*new[: min(limit, room)]}
        for each in nodes:
            if each.id in taken or each.id in self.built.nodes:
                self.built.add(each)
        self._note_left_out(len(new), limit, room)
        return len(taken)

    def connect(self, edge: WorkingEdge) -> bool:
        """Take an edge in if both of its nodes are there; False: there are too many edges."""
        if not {*edge.ends} <= self.built.nodes.keys():
            return True
        if edge.key not in self.built.edges and len(self.built.edges) >= MAX_SUBGRAPH_EDGES:
            return False
        self.built.connect(edge)
        return True

    def _note_left_out(self, new: int, limit: int, room: int) -> None:
        left_out = new - min(limit, room)
        if left_out <= 0:
            return
        what = pluralize(left_out, "node")
        if room < limit:
            effect = f"{what} left out: a subgraph has at most {MAX_SUBGRAPH_NODES}; put a limit step before"
            self.cut.append(Cut(by="nodes", left_out=left_out, effect=effect))
        else:
            effect = f"{what} left out, the farthest and least sure: the step brings at most {limit}"
            self.cut.append(Cut(by="limit", left_out=left_out, effect=effect))

    def note_degraded(self, degraded: Sequence[Degradation]) -> None:
        """What could not be done, each once."""
        self.degraded += [each for each in degraded if each not in self.degraded]


# Expanding: edges are followed from all nodes there are, hop by hop.

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
        types = resolve_types(self._graph, sorted(progress.ontologies), step.types)
        if types.unknown:
            progress.note_degraded([Degradation(part="concepts", effect=types.unknown)])
        how = Following(step.direction, step.fan_out, types.keys, progress.filters.document_ids)
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
                progress.cut[cuts:] = [
                    each.model_copy(update={"effect": f"hop {hop + 1}: {each.effect}"})
                    for each in progress.cut[cuts:]
                ]
            frontier = built.ranked(node for node in built.nodes.values() if node.id not in before)
        return total

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


# What of concepts and relationships some documents prove; what could not be looked up is told.

UNPROVEN: Final = (
    "{} left out that may fit: they have so much evidence, and the documents so many sources, that not all "
    "of it was looked at; name fewer documents"
)


def appearing_in(
    graph: Graph, concept_ids: Sequence[str], ids: Sequence[str], progress: QueryProgress
) -> Collection[str]:
    """Those of some concepts that appear in some documents."""
    if not concept_ids or not ids:
        return ()
    within = concepts_within(graph, concept_ids, ids)
    _note_unproven("concept", len(within.unknown), progress)
    return within.found


def stated_by(
    graph: Graph, edges: Sequence[WorkingEdge], ids: Sequence[str], progress: QueryProgress
) -> list[WorkingEdge]:
    """Those of some relationships that sources of some documents state, with what these say of them."""
    if not edges or not ids:
        return []
    triples = [Triple(edge.subject, edge.type_key, edge.object) for edge in edges]
    within = stated_within(graph, triples, ids)
    _note_unproven("relationship", len(within.unknown), progress)
    return [
        replace(edge, support=stated.support, relation_ids=stated.relation_ids)
        for edge, each in zip(edges, triples, strict=True)
        if (stated := within.found.get(each))
    ]


def _note_unproven(what: str, number: int, progress: QueryProgress) -> None:
    if number:
        effect = UNPROVEN.format(pluralize(number, what))
        progress.cut.append(Cut(by="hub", left_out=number, effect=effect))


# Filters and limits: what of the nodes and edges there are is kept.


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which documents are meant; see `kg_api.search.scope.Narrowing`."""

    ontologies: Sequence[str] | None
    documents: Sequence[str] | None
    where: Sequence[Clause] | None


class NodeFilter:
    """Filters nodes by their kind and by their documents."""

    def __init__(self, graph: Graph, remembered: RememberedFilters) -> None:
        self._graph = graph
        self._remembered = remembered

    def filter(self, step: FilterStep, number: int, progress: QueryProgress) -> int:
        """Keep what fits; how many nodes went.

        Raises:
            InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
            Conflict: several documents' ids begin with digits that are named.
        """
        ids = self._chosen(step, number, progress)
        removed = 0
        if step.kinds is not None:
            removed += progress.built.keep(lambda node: node.kind in (step.kinds or ()))
        if ids is not None:
            removed += self._keep_of(ids, progress)
        if removed:
            effect = f"{pluralize(removed, 'node')} left out that the filter does not fit"
            progress.cut.append(Cut(by="filter", left_out=removed, effect=effect))
        return removed

    def _chosen(self, step: FilterStep, number: int, progress: QueryProgress) -> Sequence[str] | None:
        if not step.where and step.documents is None:
            return None
        asked = Narrowed(progress.query.ontologies, step.documents, step.where)
        chosen = choose(
            self._graph, self._remembered, asked, sorted(progress.ontologies), whole_documents=True
        )
        progress.note_degraded(chosen.notes)
        if not chosen.filters.document_ids:
            progress.unfitting[number] = [each.effect for each in chosen.notes]
        # Documents that a step means, of those that the query means
        ids = chosen.filters.document_ids or []
        return (
            ids if progress.document_ids is None else [each for each in ids if each in progress.document_ids]
        )

    def _keep_of(self, ids: Sequence[str], progress: QueryProgress) -> int:
        """Keep the documents of some ids, their sources, the concepts in them, and what they state."""
        built = progress.built
        concepts = [node.id for node in built.of("concept")]
        within = appearing_in(self._graph, concepts, ids, progress)
        wanted = frozenset(ids)
        removed = built.keep(lambda node: _is_of(node, wanted, within))
        stated = [edge for edge in built.edges.values() if edge.kind == "related_to"]
        kept = {edge.key: edge for edge in stated_by(self._graph, stated, ids, progress)}
        built.edges = {
            key: kept.get(key, edge)
            for key, edge in built.edges.items()
            if edge.kind != "related_to" or key in kept
        }
        return removed


def keep_best(step: LimitStep, progress: QueryProgress) -> int:
    """Keep the best nodes; how many went."""
    built = progress.built
    counted = built.of(*step.kinds) if step.kinds else built.ranked()
    removed = built.remove({node.id for node in counted[step.nodes :]})
    if removed:
        effect = f"{pluralize(removed, 'node')} left out behind the best {step.nodes}"
        progress.cut.append(Cut(by="limit", left_out=removed, effect=effect))
    return removed


def _is_of(node: WorkingNode, documents: Collection[str], concepts: Collection[str]) -> bool:
    return node.id in concepts if node.kind == "concept" else node.document_id in documents


# Orders of the nodes there are: by likeness to a text, by PageRank, by connections.

DAMPING: Final = 0.85
"""Page, Brin, Motwani, Winograd: The PageRank Citation Ranking, Stanford 1999; here the walk goes back to the
seeds (Haveliwala: Topic-Sensitive PageRank, WWW 2002)."""
ROUNDS: Final = 100
ENOUGH: Final = 1e-9


class NodeRanker:
    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._ways: dict[SubgraphOrder, Callable[[RankStep, QueryProgress], Mapping[str, float]]] = {
            "text": self._by_text,
            "pagerank": lambda _, progress: pagerank(progress.built),
            "connections": lambda _, progress: connections(progress.built),
        }

    def rank(self, step: RankStep, progress: QueryProgress) -> None:
        """Put the nodes in another order."""
        progress.built.rank(self._ways[step.by](step, progress) if progress.built.nodes else {})

    def _by_text(self, step: RankStep, progress: QueryProgress) -> Mapping[str, float]:
        text = step.text or progress.query.text or ""
        asked = question(text, sorted(progress.ontologies), progress.known, self._spaces)
        progress.note_degraded(_describe(asked.degraded))
        near = self._near(asked, progress)
        for node in progress.built.nodes.values():
            node.similarity = near.get(node.id)
        without = {node.ontology for node in progress.built.of("concept") if node.id not in near}
        if asked.meanings and without:
            progress.note_degraded(start_embedding(self._graph, progress.known, sorted(without)))
        scores = _by_groups(progress.built, near, asked)
        behind = len(progress.built.nodes.keys() - scores.keys())
        if behind:
            what = pluralize(behind, "node")
            effect = f"{what} without a vector, or a document without a source here, come behind all others"
            progress.note_degraded([Degradation(part="vectors", effect=effect)])
        return scores

    def _near(self, asked: ConceptQuery, progress: QueryProgress) -> dict[str, float]:
        """By id the cosine of text and node, of those that have a vector."""
        built = progress.built
        concepts = [node.id for node in built.of("concept")]
        near = dict(nearness_of_concepts(self._graph, concepts, asked.meanings)) if concepts else {}
        sources = {node.id: node for node in built.of("passage", "image")}
        by_ontology = {name: each.vector for each in asked.meanings for name in each.ontologies}
        found = vectors_of(self._graph, list(sources), progress.known.answering, progress.known.new)
        for identity, parts in found.items():
            vector = by_ontology.get(sources[identity].ontology)
            if vector is not None and parts:
                near[identity] = max(float(part.vector @ vector) for part in parts)
        return near


def _describe(degraded: Sequence[Degradation]) -> list[Degradation]:
    """Nothing is searched by words here."""
    told = "concepts were searched by words only", "what is like it could not be told"
    return [each.model_copy(update={"effect": each.effect.replace(*told)}) for each in degraded]


def pagerank(built: WorkingSet) -> dict[str, float]:
    """By id the share of a random walk over the edges, in either direction, that begins anew at the seeds."""
    ids = list(built.nodes)
    at = {identity: number for number, identity in enumerate(ids)}
    ends = {(at[one], at[other]) for edge in built.edges.values() for one, other in permutations(edge.ends)}
    links = np.array(sorted(ends), dtype=np.intp).reshape(-1, 2)
    seeds = np.array([float(built.nodes[each].best.hops == 0) for each in ids])
    share = _walk(links, seeds if seeds.any() else np.ones(len(ids)))
    return dict(zip(ids, share.tolist(), strict=True))


def _walk(links: NDArray[np.intp], seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a walk is that begins at seeds.

    Args:
        links: shape (edges, 2), from and to, numbers of nodes.
        seeds: shape (nodes,), how often it begins at each.
    """
    start, end = links.T
    restart, number = seeds / seeds.sum(), len(seeds)
    degrees = np.bincount(start, minlength=number)
    share = restart
    for _ in range(ROUNDS):
        handed_on = np.bincount(end, share[start] / degrees[start], number)
        stuck = share[degrees == 0].sum()
        after = DAMPING * (handed_on + stuck * restart) + (1 - DAMPING) * restart
        moved, share = np.abs(after - share).sum(), after
        if moved < ENOUGH:
            break
    return share


def connections(built: WorkingSet) -> dict[str, float]:
    """By id the number of edges."""
    counted = Counter(end for edge in built.edges.values() for end in edge.ends)
    return {identity: float(counted[identity]) for identity in built.nodes}


def _by_groups(built: WorkingSet, near: Mapping[str, float], asked: ConceptQuery) -> dict[str, float]:
    """By ranks within each kind and space, for cosines of two cannot be compared."""
    spaces = {name: each.space.slug for each in asked.meanings for name in each.ontologies}
    groups: defaultdict[tuple[str, bool], list[WorkingNode]] = defaultdict(list)
    for node in built.nodes.values():
        if node.id in near:
            groups[spaces[node.ontology], node.kind == "concept"].append(node)
    scores = dict[str, float]()
    for group in groups.values():
        group.sort(key=lambda node: (-near[node.id], node.id))
        scores |= reciprocal_rank_fusion([[node.id for node in group]])
    return scores | _of_documents(built, scores)


def _of_documents(built: WorkingSet, scores: Mapping[str, float]) -> dict[str, float]:
    best = dict[str, float]()
    for node in built.of("passage", "image"):
        if node.document_id is not None and node.id in scores:
            best[node.document_id] = max(scores[node.id], best.get(node.document_id, 0.0))
    return {node.id: best[node.id] for node in built.of("document") if node.id in best}


# Seeds: what a query begins with, found by the searches there are.

T = TypeVar("T")
DIGITS = re.compile(rf"[0-9a-f]{{8,{ID_DIGITS}}}")
"""An id, or a beginning of one."""
CANDIDATES = 50
"""Hits among which those are looked for that a phrase may mean."""
MAX_REASONS = 3
"""Of what a search could not do, that are told where it found nothing."""


class Seeder:
    def __init__(
        self,
        graph: Graph,
        search: SearchService,
        concepts: ConceptService,
        relationships: RelationshipSearcher,
    ) -> None:
        self._graph = graph
        self._search = search
        self._concepts = concepts
        self._relationships = relationships
        self._ways: dict[SeedKind, Callable[[SeedStep, int, QueryProgress], int]] = {
            "text": self._by_text,
            "concept": self._by_concept,
            "relationship": self._by_relationship,
            "source": self._by_source,
            "image": self._by_source,
        }

    def seed(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        """Bring seeds; how many are new.

        Raises:
            NotFound: no concept fits, or there is no such source.
            Conflict: several sources are called so, or several ids begin so.
            InvalidInput: what is named is of another ontology or document than the query sees, or a source
                that is to be a picture is none.
        """
        return self._ways[step.by](step, number, progress)

    def _by_text(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        query = progress.query
        found = self._search.search(
            SourceSearch(
                query_text=step.value,
                ontology=query.ontology,
                documents=query.documents,
                where=[*(query.where or ()), *(step.where or ())] or None,
                kinds=step.kinds,
                mode=step.mode,
                limit=step.limit,
            )
        )
        progress.note_degraded(found.degraded)
        if found.note:
            progress.note_degraded([Degradation(part="query", effect=found.note)])
        if not found.sources:
            progress.unseen += [each.effect for each in found.degraded if each.part == "query"]
        return progress.add([_of_source(each, number, at) for at, each in _ranked(found.sources)], step.limit)

    def _by_concept(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        named = self._by_id(step.value)
        found, is_phrase = (named, False) if named else self._meant(step, progress)
        seen = self._within_documents(found, progress)
        taken = [each for each in seen if each.ontology in progress.ontologies]
        if not taken:
            raise _not_seen(step.value, found[0].ontology, progress)
        if is_phrase:
            progress.note_degraded([_describe_taken(step.value, taken[: step.limit])])
        nodes = [_of_concept(each.concept_id, each.ontology, number, at) for at, each in _ranked(taken)]
        return progress.add(nodes, step.limit)

    def _by_id(self, value: str) -> Sequence[Concept]:
        """The concept of an id, or of digits that only one begins with; none where it may be a word.

        Raises:
            NotFound: it is an id, and none has it.
            Conflict: several ids begin so.
        """
        if not DIGITS.fullmatch(value):
            return []
        try:
            return [find_concept(self._graph, value)]
        except NotFound:
            if ID.fullmatch(value):
                raise
            return []

    def _meant(self, step: SeedStep, progress: QueryProgress) -> tuple[Sequence[Concept], bool]:
        """The concepts of the very name, else those also called so, else those that fit; whether these."""
        found = self._concepts.search(step.value, _named(progress), max(CANDIDATES, step.limit))
        also_called = [each for each in found.concepts if each.fits == "name"]
        name = concept_name(step.value)
        called = [each for each in also_called if concept_name(each.label) == name] or also_called
        taken = called or [each for each in found.concepts if each.fits]
        if not taken:
            why = "".join(f"; {each.effect}" for each in found.degraded[:MAX_REASONS])
            raise NotFound(
                f"no concept fits {step.value!r}{nearest_labels(found.concepts)}; begin with a seed by "
                f"'text', or look for one with `kg concept search`{why}"
            )
        return taken, not called

    def _within_documents(self, found: Sequence[Concept], progress: QueryProgress) -> Sequence[Concept]:
        """Those that appear in the documents that the query sees."""
        ids = progress.filters.document_ids
        if ids is None:
            return found
        within = appearing_in(self._graph, [each.concept_id for each in found], ids, progress)
        return [each for each in found if each.concept_id in within]

    def _by_relationship(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        within, ids = _named(progress), progress.filters.document_ids
        if within is not None and len(within) > MAX_ONTOLOGIES:
            progress.note_degraded([_describe_many(within)])
        asked = RelationshipSearch(
            query_text=step.value,
            ontologies=within and within[:MAX_ONTOLOGIES],
            limit=step.limit,
        )
        found = self._relationships.search(asked, progress.document_ids)
        progress.note_degraded(found.degraded)
        edges = [_edge_seeding(hit, number) for hit in found.relationships]
        if ids is not None:
            edges = stated_by(self._graph, edges, ids, progress)
        pairs = _ranked(edges[: step.limit])
        ontologies = {end: hit.ontology for hit in found.relationships for end in _ids_of(hit)}
        nodes = [_of_concept(end, ontologies[end], number, at) for at, edge in pairs for end in edge.ends]
        added = progress.add(nodes, 2 * step.limit)
        for _, edge in pairs:
            progress.connect(edge)
        return added

    def _by_source(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        place = find_source(self._graph, step.value)
        if step.by == "image" and place.kind != "image":
            raise InvalidInput(f"step {number}: {step.value!r} is a passage, no picture: seed it by 'source'")
        node = _of_source(place, number, 1)
        if not progress.sees(node):
            raise _not_seen(step.value, node.ontology, progress)
        return progress.add([node], 1)


def _named(progress: QueryProgress) -> list[str] | None:
    """The ontologies that the query names, of those there are; None: it sees all."""
    return None if progress.query.ontologies is None else sorted(progress.ontologies)


def _ranked(found: Sequence[T]) -> list[tuple[int, T]]:
    return list(enumerate(found, start=1))


def _of_source(place: Place, step: int, rank: int) -> WorkingNode:
    way = Reached(step=step, hops=0, rank=rank)
    return WorkingNode(place.source_id, place.kind, place.ontology, place.document_id, [way])


def _of_concept(concept_id: str, ontology: str, step: int, rank: int) -> WorkingNode:
    return WorkingNode(concept_id, "concept", ontology, None, [Reached(step=step, hops=0, rank=rank)])


def _ids_of(hit: RelationshipHit) -> tuple[str, str]:
    return hit.subject.concept_id, hit.object.concept_id


def _edge_seeding(hit: RelationshipHit, step: int) -> WorkingEdge:
    return WorkingEdge(
        "related_to",
        *_ids_of(hit),
        hit.type,
        concept_name(hit.type),
        hit.sources,
        tuple(each.relation_id for each in hit.evidence),
        steps=[step],
    )


def _not_seen(value: str, ontology: str, progress: QueryProgress) -> InvalidInput:
    """The error that the query's own filters leave out a seed that it names."""
    if ontology not in progress.ontologies:
        told = f"is in the ontology {ontology!r}, which the query does not see: name it in ontology"
    elif progress.cut:
        told = f"was not found in the documents that the query sees: {progress.cut[-1].effect}"
    else:
        why = "; ".join(progress.unseen) or "change its documents or where"
        told = f"is in no document that the query sees: {why}"
    return InvalidInput(f"{value!r} {told}")


def _describe_many(within: Sequence[str]) -> Degradation:
    effect = f"relationships were looked for in the first {MAX_ONTOLOGIES} of {len(within)} ontologies"
    return Degradation(part="concepts", effect=effect)


def _describe_taken(value: str, taken: Sequence[Concept]) -> Degradation:
    labels = ", ".join(repr(each.label) for each in taken)
    what = pluralize(len(taken), "concept")
    effect = f"no concept is called {value!r}; taken for it: {what} that it fits, {labels}"
    return Degradation(part="concepts", effect=effect)
