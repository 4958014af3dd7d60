"""Clusters of graphs that are known, and the same each time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from scipy import sparse

from benchmarks.communities import modularity
from kg_api.discovery.communities import MAX_LEVELS, Matrix, find_clusters

Edge = tuple[int, int, float]


def graph(edges: Iterable[Edge], nodes: int) -> Matrix:
    table = np.zeros((nodes, nodes))
    for one, other, weight in edges:
        table[one, other] = table[other, one] = weight
    return sparse.csr_array(table)


def clique(nodes: Iterable[int], weight: float = 1.0) -> list[Edge]:
    return [(one, other, weight) for one, other in combinations(nodes, 2)]


def test_cliques_that_one_edge_joins_are_clusters() -> None:
    found = find_clusters(
        graph([*clique(range(6)), *clique(range(6, 10)), (0, 6, 0.1)], 10), max_size=100, min_size=3
    )
    assert [each.members.tolist() for each in found] == [[*range(6)], [*range(6, 10)]]
    assert {(each.level, each.parent) for each in found} == {(0, None)}


def test_what_is_too_small_or_alone_is_left_out() -> None:
    found = find_clusters(graph([*clique(range(4)), (4, 5, 9.0)], 8), max_size=100, min_size=3)
    assert [each.members.tolist() for each in found] == [[0, 1, 2, 3]]


def test_what_is_too_large_is_divided_with_a_link_to_the_whole() -> None:
    edges = [edge for at in range(0, 40, 8) for edge in clique(range(at, at + 8))]
    edges += [(one, other, 0.4) for one, other in combinations(range(40), 2) if one // 8 != other // 8]
    edges += [edge for at in range(40, 80, 8) for edge in clique(range(at, at + 8), 20.0)]
    found = find_clusters(graph(edges, 80), max_size=10, min_size=3)
    top = [each for each in found if each.level == 0]
    parts = [each for each in found if each.level == 1]
    assert sorted(len(each.members) for each in parts) == [8] * 5
    (whole,) = {each.parent for each in parts}
    assert whole is not None
    assert sorted(node for each in parts for node in each.members.tolist()) == found[whole].members.tolist()
    assert [len(each.members) for each in top] == sorted((len(each.members) for each in top), reverse=True)


def test_what_cannot_be_divided_stays_whole() -> None:
    (only,) = find_clusters(graph(clique(range(30)), 30), max_size=10, min_size=3)
    assert len(only.members) == 30


def test_it_is_the_same_each_time_and_levels_are_bounded() -> None:
    dice = np.random.default_rng(5)
    ends = dice.integers(0, 600, (4000, 2)).tolist()
    edges = [(one, other, float(dice.random())) for one, other in ends if one != other]
    weights = graph(edges, 600)
    one, other = (find_clusters(weights, max_size=10, min_size=2) for _ in range(2))
    assert [each.members.tolist() for each in one] == [each.members.tolist() for each in other]
    assert max(each.level for each in one) < MAX_LEVELS


def test_without_edges_there_are_no_clusters() -> None:
    assert find_clusters(graph([], 5), max_size=10, min_size=3) == []
    assert find_clusters(sparse.csr_array((0, 0)), max_size=10, min_size=3) == []
    assert modularity(graph([], 5), np.zeros(5, np.int64)) == 0


def test_modularity_is_that_of_a_known_graph() -> None:
    weights = graph([*clique(range(3)), *clique(range(3, 6)), (0, 3, 1.0)], 6)
    assert np.isclose(modularity(weights, np.array([0, 0, 0, 1, 1, 1])), 12 / 14 - 0.5)
    assert np.isclose(modularity(weights, np.zeros(6, np.int64)), 0)
