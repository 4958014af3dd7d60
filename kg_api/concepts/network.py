"""What surrounds a concept, and the shortest paths between two concepts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import Protocol

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concepts import (
    Pair,
    ReachedConcept,
    Relation,
    StatedRelation,
    appearing_with,
    concepts_of,
    expand_appearing,
    expand_related,
    relations_of,
    sources_shared,
    statements_among,
    statements_between,
)
from kg_api.schemas.base import ID_DIGITS
from kg_api.schemas.concepts import (
    APPEARS_WITH,
    Concept,
    ConceptHit,
    ConceptPath,
    Neighbourhood,
    PathStep,
    RelatedConcept,
    RelatedConcepts,
    nearest_labels,
)
from kg_api.schemas.search import Degradation
from kg_api.schemas.vocabulary import MAX_RELATED

# What is meant by an end of a path: a concept's id, its name, or a phrase that one is looked for by.

CANDIDATES = 50
"""Hits of each end among which two of one ontology are looked for."""
MAX_SHOWN = 3
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")

Find = Callable[[str], Concept]
Search = Callable[[str, Sequence[str] | None], Sequence[ConceptHit]]


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a path, of one ontology."""

    start: Concept
    end: Concept
    degraded: list[Degradation]
    """What was taken for a phrase."""


def both_ends(start: str, end: str, ontologies: Sequence[str] | None, find: Find, search: Search) -> Ends:
    """Work out which concepts are meant.

    An id or a name means what it says, in whatever ontologies that is; a phrase is looked for beside it.

    Args:
        start: an id, a name or a phrase, as `end`.
        end: where the path ends.
        ontologies: where to look for names and phrases; None: everywhere.
        find: gives the concept of an id, or raises NotFound.
        search: gives the concepts that a phrase finds, the best first.

    Raises:
        NotFound: no concept fits, or has the id.
        InvalidInput: they are of two ontologies, which have no concept in common.
    """
    sure = [_sure(text, ontologies, find, search) for text in (start, end)]
    first = sure[0] or _fitting(start, _ontologies_of(sure[1]) or ontologies, search)
    last = sure[1] or _fitting(end, _ontologies_of(sure[0]) or ontologies, search)
    pairs = [(a, b) for a, b in product(first, last) if a.ontology == b.ontology]
    if not pairs:
        raise InvalidInput(
            f"{_where(start, first)} and {_where(end, last)}: concepts of two ontologies are not connected; "
            "both ends must be of one ontology"
        )
    first_taken, last_taken = max(pairs, key=_score)
    return Ends(
        first_taken, last_taken, [*_describe_match(start, first_taken), *_describe_match(end, last_taken)]
    )


def _sure(text: str, ontologies: Sequence[str] | None, find: Find, search: Search) -> list[Concept]:
    """What has the id, or goes by the very name."""
    if ID.fullmatch(text):
        return [find(text)]
    return [each for each in search(text, ontologies) if each.fits == "name"]


def _fitting(text: str, within: Sequence[str] | None, search: Search) -> list[Concept]:
    found = search(text, within)
    fitting: list[Concept] = [each for each in found if each.fits]
    if not fitting:
        raise NotFound(
            f"no concept fits {text!r}{nearest_labels(found)}; "
            "`kg concept search` and `kg concept list` show the existing ones"
        )
    return fitting


def _ontologies_of(concepts: Sequence[Concept]) -> list[str]:
    return list(dict.fromkeys(each.ontology for each in concepts))


def _where(text: str, concepts: Sequence[Concept]) -> str:
    label = text if not ID.fullmatch(text) else concepts[0].label
    return f"{label!r} is in {', '.join(map(repr, _ontologies_of(concepts)[:MAX_SHOWN]))}"


def _score(pair: tuple[Concept, Concept]) -> float:
    return sum(concept.score for concept in pair if isinstance(concept, ConceptHit))


def _describe_match(text: str, concept: Concept) -> list[Degradation]:
    """Nothing where it was called by its name or id."""
    if not isinstance(concept, ConceptHit) or concept.fits == "name":
        return []
    effect = f"no concept is called {text!r}: {concept.label!r} was taken, which fits best"
    return [Degradation(part="concepts", effect=effect)]


# What is around a concept: those related to it, hop by hop, and a picture of them.

SURROUNDINGS_FAN_OUT = MAX_RELATED + 1
"""So many around one concept are looked at: those that are not given are counted up to it."""
MAX_STEPS = 2000
"""Edges of a picture, besides those by which its concepts were reached."""
NOT_ALL = "some concepts have very many relationships: not all connections among them are given"
NOTHING_STATED = (
    "no text states a relationship of it: those that appear in the same sources were given, as 'appears with'"
)


def find_related(graph: Graph, concept: Concept, hops: int, limit: int) -> RelatedConcepts:
    """What a concept is related to within some hops; where nothing is stated, what is in the same sources."""
    found = _hops(graph, concept.concept_id, hops, limit)
    degraded: list[Degradation] = []
    if not found:
        shared = appearing_with(graph, concept.concept_id, APPEARS_WITH, SURROUNDINGS_FAN_OUT)
        found = [_to_related(each, 1) for each in shared]
        degraded = [Degradation(part="concepts", effect=NOTHING_STATED)] if found else []
    return RelatedConcepts(
        concept=concept,
        hops=hops,
        related=found[:limit],
        more_related=max(0, len(found) - limit),
        degraded=degraded,
    )


def neighbourhood(graph: Graph, concept: Concept, limit: int) -> Neighbourhood:
    """A concept and those around it as nodes and edges: first what is stated, then what is in its sources."""
    own = concept.concept_id
    near = _hops(graph, own, 2, limit)
    shared = appearing_with(graph, own, APPEARS_WITH, SURROUNDINGS_FAN_OUT)
    every = {each.concept.concept_id: each.concept for each in near}
    every |= {
        each.concept.concept_id: each.concept for each in shared if each.concept.concept_id not in every
    }
    taken = dict(list(every.items())[:limit])
    stated, cut = statements_among(graph, [own, *taken], MAX_STEPS)
    linked = {each.concept.concept_id for each in near if each.hops == 1}
    beside = [
        each for each in shared if each.concept.concept_id in taken and each.concept.concept_id not in linked
    ]
    return Neighbourhood(
        centre=own,
        concepts=[concept, *taken.values()],
        steps=_once_each([*_near_steps(own, near, taken), *_steps(stated), *_shared_steps(own, beside)]),
        left_out=len(every) - len(taken),
        degraded=_describe_degradation(nothing=bool(shared and not near), cut=cut),
    )


def _hops(graph: Graph, own: str, hops: int, limit: int) -> list[RelatedConcept]:
    """One more than asked for at least, where there are so many; each concept at its nearest hop only."""
    found: list[RelatedConcept] = []
    seen, frontier = {own}, [own]
    for hop in range(1, hops + 1):
        relations = relations_of(graph, frontier, SURROUNDINGS_FAN_OUT)
        new = [each for each in relations if each.concept.concept_id not in seen]
        new = new if hop == 1 else _once(new)
        found += [_to_related(each, hop) for each in new]
        frontier = list(dict.fromkeys(each.concept.concept_id for each in new))[:limit]
        seen |= {each.concept.concept_id for each in new}
        if len(found) > limit or not frontier:
            break
    return found


def _describe_degradation(*, nothing: bool, cut: bool) -> list[Degradation]:
    effects = [NOTHING_STATED] if nothing else []
    effects += [NOT_ALL] if cut else []
    return [Degradation(part="concepts", effect=effect) for effect in effects]


def _once(relations: Iterable[Relation]) -> list[Relation]:
    first: dict[str, Relation] = {}
    for each in relations:
        first.setdefault(each.concept.concept_id, each)
    return list(first.values())


def _to_related(each: Relation, hop: int) -> RelatedConcept:
    return RelatedConcept(
        concept=each.concept,
        type=each.type,
        outgoing=each.outgoing,
        confidence=each.confidence,
        sources=each.sources,
        hops=hop,
        via=each.of if hop > 1 else None,
    )


def _near_steps(own: str, near: Sequence[RelatedConcept], taken: Container[str]) -> list[PathStep]:
    """How each concept was reached: so the picture hangs together whatever else is left out."""
    steps: list[PathStep] = []
    for each in near:
        ends = (each.via or own, each.concept.concept_id)
        if ends[1] in taken and (each.via is None or each.via in taken):
            subject, target = ends if each.outgoing else ends[::-1]
            steps.append(PathStep(subject=subject, type=each.type, object=target, sources=each.sources))
    return steps


def _once_each(steps: Iterable[PathStep]) -> list[PathStep]:
    first: dict[tuple[str, str, str], PathStep] = {}
    for each in steps:
        first.setdefault((each.subject, each.type.lower(), each.object), each)
    return list(first.values())


def _steps(stated: Sequence[StatedRelation]) -> list[PathStep]:
    return [
        PathStep(subject=each.subject, type=each.type, object=each.object, sources=each.sources)
        for each in stated
    ]


def _shared_steps(own: str, relations: Sequence[Relation]) -> list[PathStep]:
    return [
        PathStep(subject=own, type=APPEARS_WITH, object=each.concept.concept_id, sources=each.sources)
        for each in relations
    ]


# The shortest ways between two nodes of a graph that is only known step by step. Pure.


class Neighbours(Protocol):
    """The neighbours of a node, as far as they are given."""

    @property
    def neighbours(self) -> Sequence[str]:
        """The nearest first."""
        ...

    @property
    def cut(self) -> bool: ...


Expand = Callable[[Sequence[str]], Mapping[str, Neighbours]]
"""Gives the neighbours of nodes; a node that is missing was not looked at."""


@dataclass(slots=True)
class _Side:
    """What is known from one end on."""

    before: dict[str, list[str]]
    """By node, those before it on all shortest ways from this end."""
    level: dict[str, int]
    frontier: list[str]
    depth: int = 0
    cut: bool = False
    """Something was left out, so what is not reached may be there all the same."""

    @classmethod
    def at(cls, end: str) -> _Side:
        """Nothing but the end itself."""
        return cls({end: []}, {end: 0}, [end])

    def step(self, expand: Expand) -> None:
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

    def ways(self, node: str) -> Iterator[list[str]]:
        """All shortest ways from the end to a node."""
        if not self.level[node]:
            yield [node]
        for before in self.before[node]:
            yield from ([*way, node] for way in self.ways(before))


def shortest_ways(start: str, end: str, expand: Expand, hops: int, most: int) -> list[list[str]]:
    """The shortest ways from one node to another, looked for from both ends.

    A step that is not seen from a node that has too many neighbours is seen from its other end. So where
    neighbours were left out and nothing was found, each side goes one step further.

    Args:
        start: where they begin.
        end: where they end.
        expand: gives neighbours; what it leaves out may not be found.
        hops: most steps.
        most: most ways.

    Returns:
        Nodes in order, all ways of the same, smallest length; none when there is no way within so many steps.
    """
    sides = _Side.at(start), _Side.at(end)
    if start == end:
        return [[start]]
    while near := _next(sides, hops):
        near.step(expand)
        if meets := _meets(*sides, near.frontier, hops):
            return list(islice(_join(*sides, meets), most))
    return []


def _next(sides: tuple[_Side, _Side], hops: int) -> _Side | None:
    """The side that has fewer nodes to go on from; none when all was seen that could matter."""
    depth = sum(side.depth for side in sides)
    if depth >= hops + 2 * any(side.cut for side in sides):
        return None
    if any(not side.frontier and not side.cut for side in sides):
        return None
    open_sides = [side for side in sides if side.frontier]
    return min(open_sides, key=lambda side: (len(side.frontier), side.depth), default=None)


def _meets(a: _Side, b: _Side, reached: Sequence[str], hops: int) -> list[str]:
    """The nodes in which the shortest ways of both sides meet."""
    lengths = {node: a.level[node] + b.level[node] for node in reached if node in a.level and node in b.level}
    shortest = min((length for length in lengths.values() if length <= hops), default=None)
    return [node for node, length in lengths.items() if length == shortest]


def _join(a: _Side, b: _Side, meets: Sequence[str]) -> Iterator[list[str]]:
    for node in meets:
        behind = list(b.ways(node))
        for way in a.ways(node):
            yield from ([*way, *reversed(rest[:-1])] for rest in behind)


# The shortest ways between two concepts: over what texts state, else over sources that they share.

FAN_OUT = 200
"""So many neighbours of a concept are followed: those of most statements, or of most shared sources."""
FRONTIER = 500
"""So many concepts are gone on from in one step."""
SECONDS = 5.0
"""After so long no further step is taken."""


class PathFinder:
    """Looks for the ways between two concepts; one for each question."""

    def __init__(self, graph: Graph, hops: int, most: int) -> None:
        self._graph = graph
        self._hops = hops
        self._most = most
        self._until = time.monotonic() + SECONDS
        self._hubs: set[str] = set()
        self._narrowed = False
        self._late = False
        self._same: str | None = None

    def paths(self, start: Concept, end: Concept) -> list[ConceptPath]:
        """The shortest ways, those that most sources support first; what is stated goes before all else.

        From a concept to itself there is none, and it is told.
        """
        ends = (start.concept_id, end.concept_id)
        if ends[0] == ends[1]:
            self._same = start.label
            return []
        ways = self._direct(ends) or self._shortest(ends, self._find_related)
        return self._present(ways or self._shortest(ends, self._either))

    @property
    def degraded(self) -> list[Degradation]:
        told: list[str] = []
        if self._same is not None:
            told.append(f"both ends are the same concept, {self._same!r}: there is no way to look for")
        if self._hubs:
            told.append(
                f"{len(self._hubs)} of the concepts have very many neighbours: only those with most sources, "
                f"at most {FAN_OUT}, were followed, so there may be further ways"
            )
        if self._narrowed:
            told.append(f"only {FRONTIER} concepts of a step were gone on from: there may be further ways")
        if self._late:
            told.append(f"the search was ended after {SECONDS:.0f} seconds: there may be further ways")
        return [Degradation(part="concepts", effect=effect) for effect in told]

    def _direct(self, ends: Pair) -> list[list[str]]:
        """A hub may have more neighbours than are followed; two ends are looked at whatever they are."""
        return [list(ends)] if statements_between(self._graph, [ends]) else []

    def _shortest(self, ends: Pair, expand: Expand) -> list[list[str]]:
        return shortest_ways(*ends, expand, self._hops, self._most)

    def _find_related(self, nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        return (
            {}
            if self._is_late()
            else self._note_seen(expand_related(self._graph, self._first(nodes), FAN_OUT))
        )

    def _either(self, nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        stated = self._find_related(nodes)
        if self._is_late():
            return stated
        shared = self._note_seen(expand_appearing(self._graph, list(stated), FAN_OUT))
        return {
            node: ReachedConcept(
                [*each.neighbours, *shared[node].neighbours], cut=each.cut or shared[node].cut
            )
            for node, each in stated.items()
            if node in shared
        }

    def _first(self, nodes: Sequence[str]) -> Sequence[str]:
        self._narrowed = self._narrowed or len(nodes) > FRONTIER
        return nodes[:FRONTIER]

    def _note_seen(self, reached: dict[str, ReachedConcept]) -> dict[str, ReachedConcept]:
        self._hubs |= {node for node, each in reached.items() if each.cut}
        return reached

    def _is_late(self) -> bool:
        self._late = self._late or time.monotonic() > self._until
        return self._late

    def _present(self, ways: Sequence[Sequence[str]]) -> list[ConceptPath]:
        concepts = concepts_of(self._graph, (node for way in ways for node in way))
        steps = self._steps({pair for way in ways for pair in pairwise(way)})
        paths = [
            ConceptPath(
                concepts=[concepts[node] for node in way], steps=[steps[pair] for pair in pairwise(way)]
            )
            for way in ways
            if concepts.keys() >= set(way)
            and steps.keys() >= set(pairwise(way))  # or it has changed meanwhile
        ]
        return sorted(paths, key=_most_support)

    def _steps(self, pairs: set[Pair]) -> dict[Pair, PathStep]:
        stated = statements_between(self._graph, sorted(pairs))
        steps = {
            pair: PathStep(subject=each.subject, type=each.type, object=each.object, sources=each.sources)
            for pair, each in stated.items()
        }
        for pair, sources in sources_shared(self._graph, sorted(pairs - stated.keys())).items():
            if sources:
                steps[pair] = PathStep(subject=pair[0], type=APPEARS_WITH, object=pair[1], sources=sources)
        return steps


def _most_support(path: ConceptPath) -> tuple[int, int, list[str]]:
    """The weakest step decides; then all together; then the labels, so that answers do not flicker."""
    counts = [len(step.sources) for step in path.steps]
    return -min(counts), -sum(counts), [concept.label for concept in path.concepts]
