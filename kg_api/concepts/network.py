"""Neighbourhood of a concept, and shortest paths between two concepts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concepts import (
    ReachedConcept,
    expand_appearing,
    expand_related,
    read_co_occurring_concepts,
    read_concepts,
    read_related_concepts,
    read_shared_sources,
    read_statements_between,
)
from kg_api.schemas.base import ID_DIGITS
from kg_api.schemas.concepts import (
    APPEARS_WITH,
    Concept,
    ConceptHit,
    ConceptPath,
    PathStep,
    RelatedConcept,
    RelatedConcepts,
    format_nearest_labels,
)
from kg_api.schemas.search import Degradation
from kg_api.schemas.vocabulary import MAX_RELATED

# Ends of a path: the id, name or description of a concept

CANDIDATES = 50  # hits of each end in which kg looks for two concepts of one ontology
MAX_SHOWN = 3
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")

Find = Callable[[str], Concept]
Search = Callable[[str, Sequence[str] | None], Sequence[ConceptHit]]


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a path, in one ontology."""

    start: Concept
    end: Concept
    degraded: list[Degradation]  # notes on concepts chosen by similarity


def find_both_ends(
    start: str, end: str, ontologies: Sequence[str] | None, find: Find, search: Search
) -> Ends:
    """Find both ends by id, name, or phrase. A phrase is searched in the ontologies of the other end."""
    texts = (start, end)
    sure: list[Sequence[Concept]] = [
        [find(text)]
        if ID.fullmatch(text)
        else [each for each in search(text, ontologies) if each.fits == "name"]
        for text in texts
    ]
    found = list[Sequence[Concept]]()
    for text, own, other in zip(texts, sure, reversed(sure), strict=True):
        if own:
            found.append(own)
            continue
        hits = search(text, list(dict.fromkeys(each.ontology for each in other)) or ontologies)
        found.append([each for each in hits if each.fits])
        if not found[-1]:
            raise NotFound(
                f"no concept matches {text!r}{format_nearest_labels(hits)}. "
                "`kg concepts search` and `kg concepts list` show the existing ones"
            )
    pairs = [(a, b) for a, b in product(*found) if a.ontology == b.ontology]
    if not pairs:
        where = list[str]()
        for text, concepts in zip(texts, found, strict=True):
            label = text if not ID.fullmatch(text) else concepts[0].label
            names = list(dict.fromkeys(each.ontology for each in concepts))[:MAX_SHOWN]
            where.append(f"{label!r} is in {', '.join(map(repr, names))}")
        raise InvalidInput(
            f"{' and '.join(where)}: concepts of two ontologies are not connected. Choose both ends "
            "from one ontology"
        )
    taken = max(pairs, key=lambda pair: sum(each.score for each in pair if isinstance(each, ConceptHit)))
    degraded = [
        Degradation(
            part="concepts",
            effect=f"no concept is called {text!r}: {concept.label!r} was taken, which fits best",
        )
        for text, concept in zip(texts, taken, strict=True)
        if isinstance(concept, ConceptHit) and concept.fits != "name"
    ]
    return Ends(*taken, degraded)


# Related concepts

SURROUNDINGS_FAN_OUT = MAX_RELATED + 1
"""Neighbours of a concept that kg reads, to count the ones above the limit."""
NOTHING_STATED = (
    "no text states a relationship of this concept. These concepts occur in the same sources, as "
    "'appears with'"
)


def find_related(graph: Graph, concept: Concept, hops: int, limit: int) -> RelatedConcepts:
    """Find concepts within some hops, or in the same sources if no text states a relationship."""
    found = _follow_hops(graph, concept.concept_id, hops, limit)
    degraded: list[Degradation] = []
    if not found:
        found = read_co_occurring_concepts(graph, concept.concept_id, SURROUNDINGS_FAN_OUT)
        degraded = [Degradation(part="concepts", effect=NOTHING_STATED)] if found else []
    return RelatedConcepts(
        concept=concept,
        hops=hops,
        related=found[:limit],
        more_related=max(0, len(found) - limit),
        degraded=degraded,
    )


def _follow_hops(graph: Graph, own: str, hops: int, limit: int) -> list[RelatedConcept]:
    """Return each concept at its shortest distance, more than `limit` concepts if they exist."""
    found: list[RelatedConcept] = []
    seen, frontier = {own}, [own]
    for hop in range(1, hops + 1):
        new = list[RelatedConcept]()
        reached = set[str]()
        for each in read_related_concepts(graph, frontier, SURROUNDINGS_FAN_OUT, hop):
            identity = each.concept.concept_id
            if identity not in seen and (hop == 1 or identity not in reached):
                new.append(each)
                reached.add(identity)
        found += new
        frontier = list(dict.fromkeys(each.concept.concept_id for each in new))[:limit]
        seen |= reached
        if len(found) > limit or not frontier:
            break
    return found


# Shortest paths in a graph that is read step by step


Expand = Callable[[Sequence[str]], Mapping[str, ReachedConcept]]  # Reader of neighbours. It may omit nodes.


@dataclass(slots=True)
class _Side:
    """State of the search from one end."""

    before: dict[str, list[str]]  # predecessors of each node on all shortest paths from this end
    level: dict[str, int]
    frontier: list[str]
    depth: int = 0
    cut: bool = False  # some neighbours were omitted, so unreached nodes may be connected

    def expand_one_hop(self, expand: Expand) -> None:
        self.depth += 1
        reached: dict[str, list[str]] = {}
        found = expand(self.frontier)
        self.cut = self.cut or len(found) < len(self.frontier) or any(each.cut for each in found.values())
        for node, each in found.items():
            for neighbour in dict.fromkeys(each.neighbours):
                if neighbour not in self.level:
                    reached.setdefault(neighbour, []).append(node)
        self.before |= reached
        self.level |= dict.fromkeys(reached, self.depth)
        self.frontier = list(reached)

    def list_paths_to(self, node: str) -> Iterator[list[str]]:
        """Yield all shortest paths from the end to a node."""
        if not self.level[node]:
            yield [node]
        for before in self.before[node]:
            yield from ([*way, node] for way in self.list_paths_to(before))


def find_shortest_paths(start: str, end: str, expand: Expand, hops: int, most: int) -> list[list[str]]:
    """Return up to `most` shortest paths between two nodes, or [] if none has at most `hops` steps.

    A node with too many neighbours may omit an edge that its other end shows. So if neighbours were omitted
    and there is no result, each side takes one step more.
    """
    if start == end:
        return [[start]]
    a, b = (_Side({each: []}, {each: 0}, [each]) for each in (start, end))
    while True:
        is_cut = a.cut or b.cut
        if a.depth + b.depth >= hops + 2 * is_cut or any(
            not each.frontier and not each.cut for each in (a, b)
        ):
            return []  # no other node can matter
        near = min(
            (each for each in (a, b) if each.frontier),
            key=lambda each: (len(each.frontier), each.depth),
            default=None,
        )
        if near is None:
            return []
        near.expand_one_hop(expand)
        met = [node for node in near.frontier if node in a.level and node in b.level]
        lengths = {node: a.level[node] + b.level[node] for node in met}
        shortest = min((length for length in lengths.values() if length <= hops), default=None)
        if shortest is not None:
            ways = (
                [*way, *reversed(rest[:-1])]
                for node, length in lengths.items()
                if length == shortest
                for way in a.list_paths_to(node)
                for rest in b.list_paths_to(node)
            )
            return list(islice(ways, most))


# Shortest paths between two concepts: by stated relationships, or by shared sources

FAN_OUT = 200  # neighbours that kg follows from a concept: most statements or shared sources first
FRONTIER = 500  # concepts from which one step continues
SECONDS = 5.0  # time limit for the start of another step


class PathFinder:
    def __init__(self, graph: Graph, hops: int, most: int) -> None:
        self._graph = graph
        self._hops = hops
        self._most = most
        self._until = time.monotonic() + SECONDS
        self._hubs: set[str] = set()
        self._narrowed = False
        self._late = False
        self._same: str | None = None

    def find_paths(self, start: Concept, end: Concept) -> list[ConceptPath]:
        """Return the shortest paths, most supported first. Stated relationships precede shared sources.

        If both ends are the same concept, return [] and note it in `degraded`.
        """
        ends = (start.concept_id, end.concept_id)
        if ends[0] == ends[1]:
            self._same = start.label
            return []
        # The neighbours of a hub may be incomplete, so kg checks for a direct statement first.
        ways = [list(ends)] if read_statements_between(self._graph, [ends]) else []
        for expand in (self._expand_related, self._expand_either):
            ways = ways or find_shortest_paths(*ends, expand, self._hops, self._most)
        return self._present(ways)

    @property
    def degraded(self) -> list[Degradation]:
        notes: list[str] = []
        if self._same is not None:
            notes.append(f"both ends are the same concept, {self._same!r}. Choose two different concepts")
        if self._hubs:
            notes.append(
                f"{len(self._hubs)} of the concepts have too many neighbours: kg followed the "
                f"{FAN_OUT} with most sources, so there may be more paths"
            )
        if self._narrowed:
            notes.append(f"kg followed only {FRONTIER} concepts of a step, so there may be more paths")
        if self._late:
            notes.append(f"the search was ended after {SECONDS:.0f} seconds: there may be further ways")
        return [Degradation(part="concepts", effect=effect) for effect in notes]

    def _expand_related(self, nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        if self._is_late():
            return {}
        self._narrowed = self._narrowed or len(nodes) > FRONTIER
        return self._note_hubs(expand_related(self._graph, nodes[:FRONTIER], FAN_OUT))

    def _expand_either(self, nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        stated = self._expand_related(nodes)
        if self._is_late():
            return stated
        shared = self._note_hubs(expand_appearing(self._graph, list(stated), FAN_OUT))
        return {
            node: ReachedConcept([*each.neighbours, *shared[node].neighbours], each.cut or shared[node].cut)
            for node, each in stated.items()
            if node in shared
        }

    def _note_hubs(self, reached: dict[str, ReachedConcept]) -> dict[str, ReachedConcept]:
        self._hubs |= {node for node, each in reached.items() if each.cut}
        return reached

    def _is_late(self) -> bool:
        self._late = self._late or time.monotonic() > self._until
        return self._late

    def _present(self, ways: Sequence[Sequence[str]]) -> list[ConceptPath]:
        concepts = read_concepts(self._graph, (node for way in ways for node in way))
        pairs = {pair for way in ways for pair in pairwise(way)}
        steps = read_statements_between(self._graph, sorted(pairs))
        for (one, other), sources in read_shared_sources(self._graph, sorted(pairs - steps.keys())).items():
            if sources:
                steps[one, other] = PathStep(subject=one, type=APPEARS_WITH, object=other, sources=sources)
        paths = [
            ConceptPath(
                concepts=[concepts[node] for node in way], steps=[steps[pair] for pair in pairwise(way)]
            )
            for way in ways
            if concepts.keys() >= set(way)
            and steps.keys() >= set(pairwise(way))  # false after a concurrent change
        ]

        def get_support(path: ConceptPath) -> tuple[int, int, list[str]]:
            """Return a sort key: the weakest step, all steps, then the labels for a stable order."""
            counts = [len(step.sources) for step in path.steps]
            return -min(counts), -sum(counts), [concept.label for concept in path.concepts]

        return sorted(paths, key=get_support)
