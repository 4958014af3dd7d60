"""The shortest ways between two concepts: over what texts state, else over sources that they share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from kg_api.concepts.network.ways import Expand, shortest_ways
from kg_api.graph.concepts.reads import (
    Pair,
    ReachedConcept,
    concepts_of,
    expand_appearing,
    expand_related,
    sources_shared,
    statements_between,
)
from kg_api.graph.database import Graph
from kg_api.models.concepts.queries import APPEARS_WITH, Concept, ConceptPath, PathStep
from kg_api.models.queries.search import Degradation

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
