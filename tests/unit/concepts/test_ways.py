from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.concepts.network import shortest_ways
from kg_api.graph.concepts import ReachedConcept

Edges = set[tuple[int, int]]


def neighbours_of(edges: Edges) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for a, b in edges:
        found.setdefault(str(a), []).append(str(b))
        found.setdefault(str(b), []).append(str(a))
    return found


def all_shortest(start: str, end: str, known: Mapping[str, Sequence[str]], hops: int) -> set[tuple[str, ...]]:
    """By trying every way, the shorter ones first."""
    todo, found = deque[tuple[str, ...]]([(start,)]), set[tuple[str, ...]]()
    while todo:
        way = todo.popleft()
        if found and len(way) > len(next(iter(found))):
            break
        if way[-1] == end:
            found.add(way)
        elif len(way) <= hops:
            todo.extend((*way, each) for each in known.get(way[-1], ()) if each not in way)
    return found


@given(
    edges=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20),
    end=st.integers(0, 8),
    hops=st.integers(1, 4),
)
def test_all_shortest_ways_are_found_and_no_other(edges: Edges, end: int, hops: int) -> None:
    known = neighbours_of(edges)

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        return {node: ReachedConcept(known.get(node, []), cut=False) for node in nodes}

    found = shortest_ways("0", str(end), expand, hops, 10_000)
    assert len(found) == len(set(map(tuple, found)))
    assert set(map(tuple, found)) == all_shortest("0", str(end), known, hops)


def test_only_so_many_are_given_and_only_so_far_is_looked() -> None:
    known = neighbours_of({(0, middle) for middle in range(2, 9)} | {(middle, 1) for middle in range(2, 9)})
    asked: list[Sequence[str]] = []

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        asked.append(nodes)
        return {node: ReachedConcept(known[node], cut=False) for node in nodes}

    assert len(shortest_ways("0", "1", expand, 4, 3)) == 3
    assert [list(each) for each in asked] == [["0"], ["1"]], "from both ends, one step each"
    assert shortest_ways("0", "1", expand, 1, 3) == []


@pytest.mark.parametrize(("end", "hops", "found"), [("b", 2, True), ("b", 1, True), ("far", 1, False)])
def test_what_is_not_seen_from_a_hub_is_seen_from_the_other_end(end: str, hops: int, found: bool) -> None:
    """A hub that gives one neighbour only; one step more is looked, but never given."""
    known = {"hub": ["a"], "a": ["hub"], "b": ["hub"], "far": ["b"]}

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        return {node: ReachedConcept(known[node], cut=node == "hub") for node in nodes}

    assert shortest_ways("hub", end, expand, hops, 3) == ([["hub", "b"]] if found else [])


def test_where_one_side_ends_nothing_more_is_asked() -> None:
    asked: list[str] = []

    def expand(nodes: Sequence[str]) -> dict[str, ReachedConcept]:
        asked.extend(nodes)
        return {
            node: ReachedConcept([f"{node}x"] if node[0] == "a" else [], cut=node == "a") for node in nodes
        }

    assert shortest_ways("a", "b", expand, 4, 3) == []
    assert asked == ["a", "b"]


def test_where_no_node_is_looked_at_any_more_it_ends() -> None:
    assert shortest_ways("a", "b", lambda _: {}, 4, 3) == []
