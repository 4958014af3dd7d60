import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import contingency

from kg_api.discovery.communities import (
    CommunitySummary,
    ConceptGraph,
    Matrix,
    compute_centrality,
    detect_communities,
    find_clusters,
    join_labels,
    log_likelihood_ratio,
    weigh_associations,
)
from kg_api.graph.communities import OntologySize

Edge = tuple[int, int, float]


def graph(edges: Iterable[Edge], nodes: int) -> Matrix:
    table = np.zeros((nodes, nodes))
    for one, other, weight in edges:
        table[one, other] = table[other, one] = weight
    return sparse.csr_array(table)


def clique(nodes: Iterable[int], weight: float = 1.0) -> list[Edge]:
    return [(one, other, weight) for one, other in combinations(nodes, 2)]


def test_cliques_that_one_edge_joins_are_clusters() -> None:
    found = find_clusters(graph([*clique(range(6)), *clique(range(6, 10)), (0, 6, 0.1)], 10), min_size=3)
    assert [each.tolist() for each in found] == [[*range(6)], [*range(6, 10)]]


def incidence(rows: Iterable[Iterable[int]], concepts: int) -> Matrix:
    table = [[float(each in set(row)) for each in range(concepts)] for row in rows]
    return sparse.csr_array(np.array(table).reshape(-1, concepts))


@given(both=st.integers(1, 40), one=st.integers(0, 40), other=st.integers(0, 40), neither=st.integers(0, 400))
def test_the_ratio_is_that_of_a_known_library(both: int, one: int, other: int, neither: int) -> None:
    table = np.array([[both, one], [other, neither]])
    first, second, third = (np.array([float(each)]) for each in (both, both + one, both + other))
    found = float(log_likelihood_ratio(first, second, third, float(table.sum()))[0])
    if both * neither <= one * other:
        assert found == 0
    else:
        known: Any = contingency.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert math.isclose(found, known.statistic, rel_tol=1e-6, abs_tol=1e-6)


def test_ubiquitous_concept_has_no_associations() -> None:
    weights = weigh_associations(incidence([(0, 1, 2), (0, 1, 2), (0, 3, 4), (0, 3, 4)], 5)).toarray()
    assert not weights[0].any()
    assert weights[1, 2] > 0 < weights[3, 4]
    assert weights[1, 3] == 0
    assert (weights == weights.T).all()
    assert not weights.diagonal().any()


SIZE = OntologySize(concepts=100, relationships=10, sources=50, written=0, at=datetime.now(UTC))
SUMMARY = CommunitySummary(mark="m", grouped=90, left_out=5, concepts=100, relationships=10, sources=50)


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["harbour", "lighthouse", "pilot boat", "tide"], "harbour, lighthouse, pilot boat"),
        (["wheels", "variant wheels", "Wheel", "installer"], "wheels, installer"),
        (["pilot boat", "boat", "boats"], "pilot boat"),
        ([], ""),
    ],
)
def test_a_name_has_three_that_say_something_else(labels: list[str], name: str) -> None:
    assert join_labels(labels) == name


@pytest.mark.parametrize(
    ("now", "share"),
    [
        (SIZE, 0),
        (replace(SIZE, written=5), 0.1),
        (replace(SIZE, sources=40), 0.2),
        (replace(SIZE, concepts=130), 0.3),
        (replace(SIZE, concepts=70), 0.3),
        (replace(SIZE, relationships=14), 0.4),
        (replace(SIZE, relationships=6), 0.4),
        (replace(SIZE, relationships=100), 1),
    ],
)
def test_changed_share_counts_the_largest_change(now: OntologySize, share: float) -> None:
    assert SUMMARY.compute_change(now) == pytest.approx(share)


def test_community_ids_and_order_derive_from_members() -> None:
    rows = [[1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    read = ConceptGraph(list("abcdefg"), sparse.csr_array(np.array(rows * 3, dtype=np.float32)))
    found, again = (detect_communities(read, "notes", min_size=3) for _ in range(2))
    assert found == again
    assert [each["place"] for each in found] == [0, 1]
    assert [sorted(each["concept_ids"]) for each in found] == [list("defg"), list("abc")]
    other = detect_communities(read, "other", min_size=3)
    assert {each["community_id"] for each in other}.isdisjoint(each["community_id"] for each in found)


def test_ubiquitous_concept_is_less_central() -> None:
    table = np.zeros((6, 6))
    for one, other, weight in ((0, 1, 4.0), (0, 2, 3.0), (1, 2, 3.0), (0, 3, 9.0), (0, 4, 9.0)):
        table[one, other] = table[other, one] = weight
    found = compute_centrality(sparse.csr_array(table), np.array([0, 1, 2]))
    assert found.argmax() == 1
    assert found.max() == 1
    assert compute_centrality(sparse.csr_array(table), np.array([5])).tolist() == [0]
    heavy = graph([(0, 2, 4.0), (1, 2, 1.0), (0, 3, 4.0)], 4)
    assert compute_centrality(heavy, np.array([0, 1, 2])).tolist() == pytest.approx([0.4, 0.2, 1])
