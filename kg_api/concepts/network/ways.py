"""The shortest ways between two nodes of a graph that is only known step by step. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol


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
